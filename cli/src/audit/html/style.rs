//! The style of the page. It supports light and dark screens, and narrow ones.

pub(super) const PAGE: &str = "\
:root{color-scheme:light dark;--ground:#fff;--text:#16191f;--dim:#545b64;--line:#d5dbdb;--panel:#f2f3f3;--link:#0972d3;\
--succeeded:#5b9bd5;--failed:#d13212;--running:#8d6605;--shared:#f0b400;--tick:#545b64}\
@media (prefers-color-scheme:dark){:root{--ground:#0f1b2a;--text:#e3e6ea;--dim:#9ba7b6;--line:#414d5c;--panel:#192534;\
--link:#6cb2f0;--succeeded:#4f8ecb;--failed:#ff6b52;--running:#e0b040;--shared:#8a6a00;--tick:#c0c8d2}}\
*{box-sizing:border-box}\
body{margin:0 auto;padding:16px;max-width:1180px;background:var(--ground);color:var(--text);\
font:15px/1.45 system-ui,-apple-system,'Segoe UI',Helvetica,Arial,sans-serif}\
h1{font-size:24px;line-height:1.25;margin:8px 0}\
h2{font-size:18px;margin:36px 0 8px;padding-top:14px;border-top:1px solid var(--line);overflow-wrap:anywhere}\
h3{font-size:14px;font-weight:600;margin:16px 0 4px}\
p,ul{margin:6px 0}\
ul{padding-left:20px}\
li{overflow-wrap:anywhere}\
a{color:var(--link)}\
.dim{color:var(--dim)}\
.scroll{overflow-x:auto;margin:14px 0}\
table{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums}\
th,td{text-align:right;padding:5px 8px;border-bottom:1px solid var(--line);white-space:nowrap}\
th{color:var(--dim);font-weight:600;font-size:13px}\
th:first-child,td:first-child{text-align:left;white-space:normal;overflow-wrap:anywhere;min-width:150px}\
.hot{font-weight:700}\
dl{display:grid;grid-template-columns:110px 1fr;gap:4px 12px;margin:8px 0}\
dt{color:var(--dim)}\
dd{margin:0;overflow-wrap:anywhere}\
svg{display:block;width:100%;background:var(--panel);border-radius:3px}\
.axis{display:flex;justify-content:space-between;gap:8px;color:var(--dim);font-size:12px;font-variant-numeric:tabular-nums}\
.succeeded{fill:var(--succeeded);stroke:var(--succeeded)}\
.failed{fill:var(--failed);stroke:var(--failed)}\
.running{fill:var(--running);stroke:var(--running)}\
.shared{fill:var(--shared);stroke:var(--shared)}\
.bar{stroke-width:1px}\
.moment .shared{fill-opacity:.35;stroke:none}\
.strip .shared{stroke:none}\
.tick{stroke:var(--tick);stroke-width:1px;stroke-dasharray:3 3}\
.legend{display:flex;flex-wrap:wrap;gap:4px 18px;font-size:13px}\
.legend span{display:inline-flex;align-items:center;gap:6px}\
.legend svg{width:14px;height:14px;background:none;border-radius:0}\
@media (max-width:600px){body{padding:12px}dl{grid-template-columns:1fr;gap:0}dd{margin-bottom:8px}h1{font-size:20px}}\
";
