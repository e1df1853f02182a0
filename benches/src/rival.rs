//! Subjects in other languages: programs that take orders on standard input.

use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// Where the pinned packages of the rivals are installed.
#[derive(Clone, Debug)]
pub struct Installed(PathBuf);

impl Installed {
    /// The packages in `folder`, as `rivals/pairs/install` puts them there.
    #[must_use]
    pub fn new(folder: &Path) -> Self {
        Self(folder.to_owned())
    }

    /// Starts the pair of `kind`, `boto3` or `library`, in Python.
    #[must_use]
    pub fn python(&self, kind: &str, endpoint: &str, table: &str) -> Rival {
        let mut command = Command::new(self.0.join("python/bin/python"));
        command.arg(script("pair.py")).args([kind, endpoint, table]);
        Rival::start(command)
    }

    /// Starts the pair in Node.
    #[must_use]
    pub fn node(&self, endpoint: &str, table: &str) -> Rival {
        let mut command = Command::new("node");
        command.env("NODE_PATH", self.0.join("node_modules"));
        // Of the SDK, about future versions of Node.
        command.env("NODE_NO_WARNINGS", "1");
        command.arg(script("pair.js")).args([endpoint, table]);
        Rival::start(command)
    }
}

fn script(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("rivals/pairs")
        .join(name)
}

/// A program that does pairs on command, and nothing between.
#[derive(Debug)]
pub struct Rival {
    child: Child,
    orders: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Rival {
    fn start(mut command: Command) -> Self {
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command
            .spawn()
            .unwrap_or_else(|error| panic!("{command:?}: {error}"));
        let orders = child.stdin.take().expect("a pipe");
        let answers = BufReader::new(child.stdout.take().expect("a pipe"));
        Self {
            child,
            orders,
            answers,
        }
    }

    /// Does `count` pairs one after the other. Returns the milliseconds of each, by its own clock.
    pub fn pairs(&mut self, count: usize) -> Vec<f64> {
        let times = self.order(&json!({ "pairs": count }));
        let times = times.as_array().into_iter().flatten();
        times.filter_map(Value::as_f64).collect()
    }

    /// Does pairs on `clients` distinct locks at once for `seconds`. Returns pairs per second.
    ///
    /// # Panics
    /// When the program ends.
    pub fn load(&mut self, clients: usize, seconds: f64) -> f64 {
        let order = json!({ "clients": clients, "seconds": seconds });
        self.order(&order).as_f64().expect("a count") / seconds
    }

    fn order(&mut self, order: &Value) -> Value {
        writeln!(self.orders, "{order}").expect("a program that takes orders");
        let mut line = String::new();
        self.answers.read_line(&mut line).expect("an answer");
        serde_json::from_str(&line).unwrap_or_else(|_| panic!("a rival answers {line:?}"))
    }
}

impl Drop for Rival {
    fn drop(&mut self) {
        // It may have ended by itself.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
