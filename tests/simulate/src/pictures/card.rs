//! The frame shared by all charts.

use maud::{Markup, PreEscaped, html};

/// Width of a chart, and the left and right edges of its content.
pub(super) const WIDTH: f64 = 720.0;
pub(super) const LEFT: f64 = 28.0;
pub(super) const RIGHT: f64 = WIDTH - LEFT;

/// CSS classes: `ink` and `muted` for text, `freshq` and `other` for series.
const STYLE: &str = "
text { font: 14px system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif; }
.title { font-size: 18px; font-weight: 600; }
.strong { font-weight: 600; }
.middle { text-anchor: middle; }
.end { text-anchor: end; }
.line { fill: none; stroke-width: 3; stroke-linejoin: round; stroke-linecap: round; }
.dashed { stroke-dasharray: 7 6; }
.card { fill: #ffffff; stroke: #d1d9e0; }
.ink, .title { fill: #1f2328; }
.muted { fill: #59636e; }
.axis { stroke: #d1d9e0; fill: none; }
.line.other, .wait { stroke: #a5adb6; }
.bar.other { fill: #a5adb6; }
.line.freshq { stroke: #0969da; }
.bar.freshq, text.freshq { fill: #0969da; }
.wait { stroke-width: 1.5; opacity: .7; }
@media (prefers-color-scheme: dark) {
.card { fill: #0d1117; stroke: #3d444d; }
.ink, .title { fill: #f0f6fc; }
.muted { fill: #9198a1; }
.axis { stroke: #3d444d; }
.line.other, .wait { stroke: #656c76; }
.bar.other { fill: #656c76; }
.line.freshq { stroke: #4493f8; }
.bar.freshq, text.freshq { fill: #4493f8; }
}
";

/// Draws the frame of a chart, with the message as the title and the measure below.
pub(super) fn card(height: f64, title: &str, measure: &str, body: &Markup) -> Markup {
    html! {
        svg xmlns="http://www.w3.org/2000/svg" width=(WIDTH) height=(height)
            viewBox=(format!("0 0 {WIDTH} {height}")) role="img" aria-label=(title) {
            style { (PreEscaped(STYLE)) }
            rect class="card" x="0.5" y="0.5" width=(WIDTH - 1.0) height=(height - 1.0) rx="8" {}
            (text(LEFT, 38.0, "title", title))
            (text(LEFT, 62.0, "muted", measure))
            (body)
        }
    }
}

pub(super) fn text(x: f64, y: f64, class: &str, content: &str) -> Markup {
    html! { text x=(format!("{x:.1}")) y=(format!("{y:.1}")) class=(class) { (content) } }
}
