//! The plots, as SVG.

use std::error::Error;
use std::path::Path;

use plotters::coord::Shift;
use plotters::prelude::*;

use serde_json::Value;

use crate::experiments::{Discipline, Loads, Outages};
use crate::figures::Load;

const SIZE: (u32, u32) = (760, 400);
const FONT: (&str, u32) = ("sans-serif", 15);
const COLOURS: [RGBColor; 4] = [
    RGBColor(0xb0, 0x43, 0x2b),
    RGBColor(0x7a, 0x7a, 0x7a),
    RGBColor(0x1f, 0x5f, 0xa8),
    RGBColor(0x2c, 0x8a, 0x4b),
];

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Line = (String, RGBColor, Vec<(f64, f64)>);

/// Age at the start by load: the median thin, the 99th percentile thick, on a logarithmic axis.
pub(crate) fn age_by_load(path: &Path, loads: &Loads) -> Result<(), Box<dyn Error>> {
    let area = blank(path)?;
    let mut lines: Vec<Line> = Vec::new();
    for ((name, _), colour) in Discipline::ALL.iter().zip(COLOURS) {
        let of = |figure: fn(&Load) -> f64| points(loads, name, figure);
        let name = name.replace('_', " ");
        lines.push((
            format!("{name}, p99"),
            colour,
            of(|load| load.p99_age_seconds),
        ));
        lines.push((
            format!("{name}, p50"),
            colour,
            of(|load| load.p50_age_seconds),
        ));
    }
    let mut chart = ChartBuilder::on(&area)
        .caption("Age of a task at its start, by load", FONT)
        .margin(12)
        .x_label_area_size(40)
        .y_label_area_size(60)
        .build_cartesian_2d(0.5..2.0, (0.01..1_000.0).log_scale())?;
    chart
        .configure_mesh()
        .x_desc("load, as a factor of the downstream's capacity")
        .y_desc("seconds")
        .draw()?;
    for (name, colour, points) in lines {
        let width = if name.ends_with("p50") { 1 } else { 3 };
        let style = colour.stroke_width(width);
        chart
            .draw_series(LineSeries::new(points, style))?
            .label(name)
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 20, y)], style));
    }
    legend(&mut chart, SeriesLabelPosition::UpperLeft)?;
    area.present()?;
    Ok(())
}

/// Share of tasks in time, before, during and after an outage.
pub(crate) fn outage(path: &Path, outages: &Outages) -> Result<(), Box<dyn Error>> {
    let area = blank(path)?;
    let mut chart = ChartBuilder::on(&area)
        .caption("Tasks in time through an outage of 60 s (HTTP 502)", FONT)
        .margin(12)
        .x_label_area_size(40)
        .y_label_area_size(60)
        .build_cartesian_2d(0.0..180.0, 0.0..1.05)?;
    chart
        .configure_mesh()
        .x_desc("seconds; the outage is from 30 to 90")
        .y_desc("share in time (5 s)")
        .draw()?;
    for ((name, points), colour) in outages.in_time.iter().zip(COLOURS) {
        let style = colour.stroke_width(3);
        chart
            .draw_series(LineSeries::new(points.iter().copied(), style))?
            .label(name.replace('_', " "))
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 20, y)], style));
    }
    legend(&mut chart, SeriesLabelPosition::LowerLeft)?;
    area.present()?;
    Ok(())
}

/// The mean age of the last known state of a key, by discipline.
pub(crate) fn keys(path: &Path, keys: &Value) -> Result<(), Box<dyn Error>> {
    let bars: Vec<(&str, f64)> = keys
        .as_object()
        .into_iter()
        .flatten()
        .filter_map(|(name, figures)| Some((name.as_str(), figures["mean_age_seconds"].as_f64()?)))
        .collect();
    let highest = bars.iter().map(|(_, age)| *age).fold(1.0, f64::max) * 1.1;
    let area = blank(path)?;
    let mut chart = ChartBuilder::on(&area)
        .caption(
            "Mean age of the last known state of a key at 10 times the capacity",
            FONT,
        )
        .margin(12)
        .x_label_area_size(40)
        .y_label_area_size(60)
        .build_cartesian_2d((0..bars.len()).into_segmented(), 0.0..highest)?;
    let label = |place: &SegmentValue<usize>| match place {
        SegmentValue::CenterOf(place) => bars
            .get(*place)
            .map_or_else(String::new, |(name, _)| name.replace('_', " ")),
        SegmentValue::Exact(_) | SegmentValue::Last => String::new(),
    };
    chart
        .configure_mesh()
        .disable_x_mesh()
        .x_label_formatter(&label)
        .y_desc("seconds")
        .draw()?;
    chart.draw_series(bars.iter().enumerate().map(|(place, (_, age))| {
        let (from, to) = (SegmentValue::Exact(place), SegmentValue::Exact(place + 1));
        let mut bar = Rectangle::new([(from, 0.0), (to, *age)], COLOURS[2].filled());
        bar.set_margin(0, 0, 20, 20);
        bar
    }))?;
    area.present()?;
    Ok(())
}

fn points(loads: &Loads, discipline: &str, figure: fn(&Load) -> f64) -> Vec<(f64, f64)> {
    loads
        .iter()
        .filter_map(|(factor, disciplines)| {
            let load = disciplines.get(discipline)?;
            // A logarithmic axis cannot show an age of 0.
            Some((factor.parse().ok()?, figure(load).max(0.01)))
        })
        .collect()
}

fn blank(path: &Path) -> Result<Area<'_>, Box<dyn Error>> {
    let area = SVGBackend::new(path, SIZE).into_drawing_area();
    area.fill(&WHITE)?;
    Ok(area)
}

fn legend<'a, X, Y>(
    chart: &mut ChartContext<'a, SVGBackend<'a>, Cartesian2d<X, Y>>,
    position: SeriesLabelPosition,
) -> Result<(), Box<dyn Error>>
where
    X: plotters::coord::ranged1d::Ranged<ValueType = f64>,
    Y: plotters::coord::ranged1d::Ranged<ValueType = f64>,
{
    chart
        .configure_series_labels()
        .position(position)
        .background_style(WHITE.mix(0.8))
        .border_style(BLACK)
        .draw()?;
    Ok(())
}
