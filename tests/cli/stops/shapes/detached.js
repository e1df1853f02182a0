// Has its work in a process of a session of its own, and no handler.
require('node:child_process').spawn('sh', ['work.sh'], { detached: true, stdio: 'inherit' });
