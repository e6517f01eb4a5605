//! Renders the charts as inline SVG. The style sheet sets the colors for light and dark mode.

use std::error::Error;
use std::time::Duration;

use lifo_queue::time::Millis;
use maud::{Markup, PreEscaped, html};
use plotters::prelude::*;

const SIZE: (u32, u32) = (380, 170);

/// The minimum time span of a chart, in seconds.
const SHORTEST: f64 = 60.0;

/// Renders a chart with the latest value as text, because some readers cannot see the drawing. The
/// chart starts at `from`, so that all charts of a page have the same time axis. The line breaks
/// where two points are more than `gap` apart.
pub(super) fn chart(
    name: &str,
    latest: &str,
    points: &[(Millis, f64)],
    (from, now): (Millis, Millis),
    gap: Duration,
) -> Markup {
    html! {
        figure {
            figcaption { (name) ": " strong { (latest) } }
            @match svg(points, (from, now), gap) {
                Ok(svg) => div.chart role="img" aria-label=(format!("{name}, the last samples; now {latest}")) { (PreEscaped(svg)) },
                Err(error) => p.problem { "The chart could not be drawn: " (error) },
            }
        }
    }
}

fn svg(
    points: &[(Millis, f64)],
    (from, now): (Millis, Millis),
    gap: Duration,
) -> Result<String, Box<dyn Error>> {
    let seconds = |at: Millis| -now.since(at).as_secs_f64();
    let points = points.iter().map(|(at, value)| (seconds(*at), *value));
    let points: Vec<(f64, f64)> = points.collect();
    let from = seconds(from).min(-SHORTEST);
    let highest = points.iter().map(|(_, value)| *value).fold(1.0, f64::max);
    let mut svg = String::new();
    {
        let area = SVGBackend::with_string(&mut svg, SIZE).into_drawing_area();
        let mut chart = ChartBuilder::on(&area)
            .margin(8)
            .x_label_area_size(24)
            .y_label_area_size(44)
            .build_cartesian_2d(from..0.0, 0.0..highest * 1.1)?;
        chart
            .configure_mesh()
            .disable_x_mesh()
            .x_labels(4)
            .y_labels(4)
            .max_light_lines(0)
            .label_style(("sans-serif", 12))
            .x_label_formatter(&|at| format!("{at:.0} s"))
            .y_label_formatter(&label)
            .draw()?;
        let gap = gap.as_secs_f64();
        for line in points.chunk_by(|(earlier, _), (later, _)| later - earlier <= gap) {
            chart.draw_series(LineSeries::new(line.iter().copied(), BLUE.stroke_width(2)))?;
            // Draw a single sample as a point, because it does not form a line.
            let alone = line.first().filter(|_| line.len() == 1);
            chart.draw_series(alone.map(|at| Circle::new(*at, 2, BLUE.filled())))?;
        }
        chart.draw_series(points.last().map(|at| Circle::new(*at, 3, BLUE.filled())))?;
        area.present()?;
    }
    Ok(svg)
}

fn label(value: &f64) -> String {
    match value.fract() == 0.0 {
        true => format!("{value:.0}"),
        false => format!("{value:.1}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Millis = Millis(1_800_000_000_000);

    fn lines(seconds: &[i64]) -> usize {
        let points: Vec<_> = seconds
            .iter()
            .map(|ago| (Millis(NOW.0 - ago * 1_000), 5.0))
            .collect();
        let span = (Millis(NOW.0 - 349_000), NOW);
        let svg = svg(&points, span, Duration::from_secs(9)).unwrap();
        svg.matches("<polyline fill=\"none\" opacity=\"1\" stroke=\"#0000FF\"")
            .count()
    }

    #[test]
    fn chart_line_breaks_where_samples_are_missing() {
        assert_eq!(lines(&[12, 9, 6, 3, 0]), 1);
        assert_eq!(lines(&[349, 346, 343, 3, 0]), 2, "the page slept");
    }
}
