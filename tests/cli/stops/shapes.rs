//! Shapes of an ENTRYPOINT whose first process is not the work. Each saves its state within the
//! grace, whether or not `lockstep` is the first process of a container.

use crate::containers::docker;
use crate::support::{Inside, Started, binary, lock, scratch, signal_to};
use futures_util::{StreamExt, stream};
use lockstep_tests::stack::{now, pause, unique, until};
use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use tokio::process::Command;

/// How many seconds the saving takes. `su` kills its command two seconds after SIGTERM.
const SAVING: &str = "1.5";

/// How many shapes run at once: the start of an interpreter takes the processor for a second.
const AT_ONCE: usize = 7;

/// The name of each shape, and its command line in the folder of the programs.
const SHAPES: [(&str, &[&str]); 10] = [
    ("script without exec", &["sh", "-c", "sh work.sh; true"]),
    ("npm start", &["npm", "start"]),
    ("pipe", &["sh", "-c", "sh work.sh | tee log"]),
    ("bash, trap and wait", &["bash", "wait.sh"]),
    (
        "timeout in a script",
        &["sh", "-c", "timeout 1h sh work.sh; true"],
    ),
    (
        "setpriv in a script",
        &[
            "sh",
            "-c",
            "setpriv --reuid 65534 --regid 65534 --clear-groups sh work.sh; true",
        ],
    ),
    (
        "su in a script",
        &["sh", "-c", "su -s /bin/sh nobody -c 'sh work.sh'; true"],
    ),
    (
        "JVM in a script",
        &["sh", "-c", "java -XX:TieredStopAtLevel=1 Work.java; true"],
    ),
    ("Python multiprocessing", &["python3", "pool.py"]),
    ("node, detached child", &["node", "detached.js"]),
];

const PROGRAMS: [(&str, &str); 7] = [
    ("work.sh", include_str!("shapes/work.sh")),
    ("wait.sh", include_str!("shapes/wait.sh")),
    ("package.json", include_str!("shapes/package.json")),
    ("work.js", include_str!("shapes/work.js")),
    ("detached.js", include_str!("shapes/detached.js")),
    ("Work.java", include_str!("shapes/Work.java")),
    ("pool.py", include_str!("shapes/pool.py")),
];

/// The folders of the machine that contain these tools and what they need. They are mounted into
/// containers of the batch's image, which has next to nothing.
const TOOLS: [&str; 6] = ["/usr", "/bin", "/sbin", "/lib", "/lib64", "/etc"];

/// Where a shape runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// As the first process of a container.
    Container,
    Host,
}

/// What a shape did after SIGTERM.
#[derive(Debug)]
struct Stopped {
    name: &'static str,
    place: Place,
    /// Whether its state was saved when the process that started it ended, and three seconds later.
    saved: (bool, bool),
    /// Milliseconds from SIGTERM to the end of that process.
    took: u64,
}

/// A running shape, and the folder with its programs and its state.
struct Shape {
    folder: PathBuf,
    process: Started,
    /// The container's name, if it runs in one.
    container: Option<String>,
}

impl Shape {
    /// Starts `command` in `place`, with `lockstep` or `init` before it.
    async fn start(inside: &Inside, place: Place, init: &[&str], command: &[&str]) -> Self {
        let folder = scratch("shape");
        fs::create_dir(&folder).expect("a folder");
        // `setpriv` and `su` change the user.
        fs::set_permissions(&folder, Permissions::from_mode(0o777)).expect("a mode");
        for (name, text) in PROGRAMS {
            fs::write(folder.join(name), text).expect("a program");
        }
        let lock = lock("shape");
        let binary = binary();
        let binary = binary.to_str().expect("a path of plain letters");
        let run = [binary, "run", "--lock", &lock, "--grace", "20s", "--"];
        let init = if init.is_empty() { &run } else { init };
        let line = [init, command].concat();
        // The path is relative, because a folder above may be closed to other users.
        let mut environment = inside.environment();
        let more = [("STATE", "."), ("HOME", "."), ("SAVING", SAVING)];
        environment.extend(more.map(|(name, value)| (name.to_owned(), value.to_owned())));
        let (mut start, container) = match place {
            Place::Host => {
                let mut start = Command::new(line[0]);
                start.args(&line[1..]).env_clear().envs(environment);
                start.current_dir(&folder);
                (start, None)
            }
            Place::Container => {
                let name = unique("shape");
                let start = in_container(inside, &name, &folder, environment, (&[], &line));
                (start, Some(name))
            }
        };
        let log = fs::File::create(folder.join("stderr")).expect("a log");
        start.stdin(std::process::Stdio::null());
        start.stdout(log.try_clone().expect("a log")).stderr(log);
        let process = Started::of(start);
        Self {
            folder,
            process,
            container,
        }
    }

    fn has(&self, name: &str) -> bool {
        self.folder.join(name).exists()
    }

    fn log(&self) -> String {
        fs::read_to_string(self.folder.join("stderr")).unwrap_or_default()
    }

    /// Sends SIGTERM once the shape is up, and waits for its end. Returns what it did.
    async fn stop(mut self, inside: &Inside, (name, place): (&'static str, Place)) -> Stopped {
        until(name, 60, async || {
            assert!(!self.has("saved"), "{name}: {}", self.log());
            self.has("up")
        })
        .await;
        let asked = now();
        match &self.container {
            Some(container) => {
                let kill = ["kill", "--signal", "TERM", container];
                let sent = docker(&inside.stack, &kill).await;
                assert!(sent.status.success(), "{sent:?}");
            }
            None => self.process.signal("TERM").await,
        }
        self.process.code().await;
        let took = now() - asked;
        let in_time = self.has("saved");
        if !in_time {
            pause(3_000).await;
        }
        let saved = (in_time, self.has("saved"));
        if !in_time {
            eprintln!("{name}, {place:?}: {}", self.log());
        }
        self.remove().await;
        Stopped {
            name,
            place,
            saved,
            took,
        }
    }

    /// Kills what an init has left behind, and removes the folder.
    async fn remove(self) {
        let processes = fs::read_dir("/proc").expect("/proc").flatten();
        for process in processes {
            let id = process.file_name();
            let id = id.to_str().and_then(|id| id.parse::<u32>().ok());
            let folder = fs::read_link(process.path().join("cwd"));
            if let (Some(id), Ok(folder)) = (id, folder)
                && folder == self.folder
            {
                signal_to(id, "KILL").await;
            }
        }
        fs::remove_dir_all(&self.folder).expect("a folder that can be removed");
    }
}

/// Returns a `docker run` with `flags` of `line`, whose first word is the container's first
/// process.
pub(crate) fn in_container(
    inside: &Inside,
    name: &str,
    folder: &Path,
    environment: Vec<(String, String)>,
    (flags, line): (&[&str], &[&str]),
) -> Command {
    let mut run = Command::new("docker");
    run.env("DOCKER_HOST", inside.stack.setting("DOCKER_HOST"));
    run.args(["run", "--rm", "--network", "host", "--name", name]);
    run.args(flags);
    for tools in TOOLS {
        run.args(["--volume", &format!("{tools}:{tools}:ro")]);
    }
    let program = format!("{0}:{0}:ro", binary().display());
    let folder = format!("{}:/shape", folder.display());
    run.args([
        "--volume",
        &program,
        "--volume",
        &folder,
        "--workdir",
        "/shape",
    ]);
    for (name, value) in environment {
        let value = match name.as_str() {
            "PATH" => "/usr/sbin:/usr/bin:/sbin:/bin".to_owned(),
            "TMPDIR" => "/dev/shm".to_owned(),
            _ => value,
        };
        run.args(["--env", &format!("{name}={value}")]);
    }
    run.args([
        "--entrypoint",
        line[0],
        inside.stack.setting("LOCKSTEP_BATCH_IMAGE"),
    ]);
    run.args(&line[1..]);
    run
}

/// Stops all shapes in both places, some at a time, with `lockstep` or `init` before them.
async fn stop_all(init: &[&str]) -> Vec<Stopped> {
    let inside = &Inside::open().await;
    let is_root = fs::metadata("/proc/self").expect("/proc").uid() == 0;
    // Only root may change the user. The user of a container is root.
    let may_run = |name: &str, place| {
        let changes_user = name.starts_with("setpriv") || name.starts_with("su ");
        place == Place::Container || is_root || !changes_user
    };
    let both = |(name, command)| {
        [
            (name, command, Place::Container),
            (name, command, Place::Host),
        ]
    };
    let all = SHAPES.into_iter().flat_map(both);
    let stopped =
        all.filter(|(name, _, place)| may_run(name, *place))
            .map(async |(name, command, place)| {
                let shape = Shape::start(inside, place, init, command).await;
                shape.stop(inside, (name, place)).await
            });
    stream::iter(stopped)
        .buffer_unordered(AT_ONCE)
        .collect()
        .await
}

#[tokio::test]
async fn every_shape_of_an_entrypoint_saves_its_state_in_its_grace() {
    let stopped = stop_all(&[]).await;

    let lost: Vec<_> = stopped.iter().filter(|one| !one.saved.0).collect();
    assert!(stopped.len() >= 18, "{stopped:?}");
    assert!(lost.is_empty(), "{lost:?}");
}

/// Stops the shapes under `lockstep run`, tini and dumb-init, and prints which of them saved their state.
#[tokio::test]
#[ignore = "compares with tini and dumb-init, which have to be installed"]
async fn shapes_beside_bare_inits() {
    for init in [
        &[] as &[&str],
        &["/usr/bin/tini", "-g", "--"],
        &["/usr/bin/dumb-init"],
    ] {
        let mut stopped = stop_all(init).await;
        stopped.sort_by_key(|one| (one.place == Place::Host, one.name));
        for Stopped {
            name,
            place,
            saved,
            took,
        } in stopped
        {
            let init = init.first().unwrap_or(&"lockstep run");
            eprintln!(
                "figure: {init} | {place:?} | {name} | saved at its end: {} | later: {} | {took} ms",
                saved.0, saved.1
            );
        }
    }
}
