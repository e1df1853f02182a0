//! The operating system and the environment of the command: processes, clocks, variables, files, standard
//! error, the terminal, signals, proxies and root certificates, the configuration of the AWS clients, and the
//! identity of the task and container.

pub(crate) mod aws;
pub(crate) mod children;
pub(crate) mod clock;
pub(crate) mod empty;
pub(crate) mod env;
pub(crate) mod file;
pub(crate) mod foreground;
pub(crate) mod home;
mod host;
pub(crate) mod http;
mod https;
pub(crate) mod identity;
mod proxies;
pub(crate) mod retry;
pub(crate) mod server_time;
pub(crate) mod signals;
pub(crate) mod stderr;
pub(crate) mod steady;
pub(crate) mod terminal;
mod tls;
