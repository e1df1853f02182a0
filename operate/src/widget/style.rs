//! The style of the pages. The console offers no variables for its colours, so each theme has its own set.
//!
//! A colour is never the only sign of a state: the word for the state is always shown.

/// Sizes and distances.
pub(super) const COMMON: &str = "\
.lockstep{font-family:Helvetica,Arial,sans-serif;font-size:14px;padding:8px;box-sizing:border-box;max-width:100%;overflow-x:auto}\
.lockstep h2{font-size:18px;margin:0 0 8px}\
.lockstep h3{font-size:15px;margin:16px 0 4px}\
.lockstep p{margin:6px 0}\
.lockstep table{border-collapse:collapse;width:100%}\
.lockstep th,.lockstep td{text-align:left;vertical-align:top;padding:4px 8px;border-bottom:1px solid;overflow-wrap:anywhere}\
.lockstep th{white-space:nowrap}\
.lockstep tbody td{min-width:110px}\
.lockstep .axis td,.lockstep td.fixed{min-width:0}\
.lockstep .fixed{white-space:nowrap}\
.lockstep form{margin:0 0 8px}\
.lockstep label{margin-right:12px}\
.lockstep input,.lockstep select{font:inherit;padding:3px 6px;border:1px solid;border-radius:3px}\
.lockstep .wide{width:320px;max-width:100%;box-sizing:border-box}\
.lockstep .link{cursor:pointer;text-decoration:underline;overflow-wrap:normal}\
.lockstep .btn{display:inline-block;cursor:pointer;font-weight:bold;padding:3px 14px;border:1px solid;border-radius:14px;margin:2px 6px 2px 0}\
.lockstep .state{font-weight:bold;white-space:nowrap}\
.lockstep .notice{border:1px solid;border-left-width:6px;padding:6px 10px;margin:0 0 10px;overflow-wrap:anywhere}\
.lockstep svg{display:block;width:100%}\
.lockstep .axis td{border:0;padding:2px 0}\
.lockstep .axis td+td{text-align:right}\
.lockstep .legend span{margin-right:14px}\
";

/// The colours of the light theme.
pub(super) const LIGHT: &str = "\
.lockstep{background:#ffffff;color:#16191f}\
.lockstep th,.lockstep td{border-color:#d5dbdb;color:#16191f;background:#ffffff}\
.lockstep th,.lockstep .dim{color:#545b64}\
.lockstep input,.lockstep select{border-color:#687078;color:#16191f;background:#ffffff}\
.lockstep .link{color:#0972d3}\
.lockstep .btn{border-color:#0972d3;color:#0972d3;background:#ffffff}\
.lockstep .btn-primary{color:#ffffff;background:#0972d3}\
.lockstep .held{color:#0972d3;fill:#0972d3}\
.lockstep .waiting,.lockstep .recovered,.lockstep .lost{color:#8d6605;fill:#b88607}\
.lockstep .paused{color:#a04700;fill:#a04700;stroke:#a04700}\
.lockstep .frozen,.lockstep .unreadable,.lockstep .failed{color:#d13212;fill:#d13212}\
.lockstep .succeeded{color:#1d8102;fill:#1d8102}\
.lockstep .idle{color:#545b64}\
.lockstep .evicted,.lockstep .replaced{color:#7d2fb5;fill:#7d2fb5}\
.lockstep .ground{fill:#f2f3f3}\
.lockstep .done{border-color:#1d8102}\
.lockstep .problem{border-color:#d13212}\
";

/// The colours of the dark theme.
pub(super) const DARK: &str = "\
.lockstep{background:#0f1b2a;color:#d1d5db}\
.lockstep th,.lockstep td{border-color:#414d5c;color:#d1d5db;background:#0f1b2a}\
.lockstep th,.lockstep .dim{color:#9ba7b6}\
.lockstep h2,.lockstep h3{color:#e9ebed}\
.lockstep input,.lockstep select{border-color:#7d8998;color:#e9ebed;background:#192534}\
.lockstep .link{color:#539fe5}\
.lockstep .btn{border-color:#539fe5;color:#539fe5;background:#0f1b2a}\
.lockstep .btn-primary{color:#000716;background:#539fe5}\
.lockstep .held{color:#539fe5;fill:#539fe5}\
.lockstep .waiting,.lockstep .recovered,.lockstep .lost{color:#e0ca57;fill:#e0ca57}\
.lockstep .paused{color:#f89256;fill:#f89256;stroke:#f89256}\
.lockstep .frozen,.lockstep .unreadable,.lockstep .failed{color:#ff5d64;fill:#ff5d64}\
.lockstep .succeeded{color:#29ad32;fill:#29ad32}\
.lockstep .idle{color:#9ba7b6}\
.lockstep .evicted,.lockstep .replaced{color:#bf80ff;fill:#bf80ff}\
.lockstep .ground{fill:#192534}\
.lockstep .done{border-color:#29ad32}\
.lockstep .problem{border-color:#ff5d64}\
";
