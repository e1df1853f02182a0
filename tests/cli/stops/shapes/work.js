// Saves its state on SIGTERM, which takes $SAVING seconds.
const { writeFileSync } = require('node:fs');
const { SAVING, STATE } = process.env;
const save = () => { writeFileSync(`${STATE}/saved`, 'saved\n'); process.exit(0); };
// npm forwards SIGTERM too: the first one counts.
let isSaving = false;
process.on('SIGTERM', () => { if (!isSaving) { isSaving = true; setTimeout(save, SAVING * 1000); } });
setInterval(() => {}, 1000);
writeFileSync(`${STATE}/up`, 'up\n');
