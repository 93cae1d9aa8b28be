//! The curves as small panels, one per curve: the number from left to right, the value upwards from zero.

use std::fmt::Write;

use super::curve::Curve;

const WIDTH: f64 = 260.0;
const HEIGHT: f64 = 150.0;
const MARGIN: f64 = 34.0;
const COLUMNS: usize = 4;

pub(crate) fn draw(curves: &[Curve]) -> String {
    let rows = curves.len().div_ceil(COLUMNS).max(1);
    let (width, height) = (WIDTH * number(COLUMNS), HEIGHT * number(rows));
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" \
         font-family=\"sans-serif\" font-size=\"10\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
    );
    for (at, curve) in curves.iter().enumerate() {
        let (x, y) = (WIDTH * number(at % COLUMNS), HEIGHT * number(at / COLUMNS));
        // Writing into a string does not fail.
        let _ = writeln!(text, "<g transform=\"translate({x} {y})\">{}</g>", panel(curve));
    }
    text.push_str("</svg>\n");
    text
}

fn panel(curve: &Curve) -> String {
    let most = curve.points.iter().map(|(_, value)| *value).fold(f64::MIN_POSITIVE, f64::max);
    let last = curve.points.len().saturating_sub(1).max(1);
    let (inner, tall) = (WIDTH - 2.0 * MARGIN, HEIGHT - 2.0 * MARGIN);
    let place = |at: usize, value: f64| {
        let x = MARGIN + inner * number(at) / number(last);
        (x, MARGIN + tall - tall * value / most)
    };
    let mut text = format!(
        "<text x=\"{MARGIN}\" y=\"14\" font-weight=\"bold\">{}</text>\
         <text x=\"{MARGIN}\" y=\"26\" fill=\"#666\">{} · {}</text>\
         <path d=\"M{MARGIN} {MARGIN}V{bottom}H{right}\" fill=\"none\" stroke=\"#bbb\"/>",
        escaped(&curve.what),
        escaped(curve.unit),
        escaped(curve.of),
        bottom = MARGIN + tall,
        right = MARGIN + inner,
    );
    let mut line = String::new();
    for (at, (count, value)) in curve.points.iter().enumerate() {
        let (x, y) = place(at, *value);
        let _ = write!(line, "{x:.1},{y:.1} ");
        let _ = write!(
            text,
            "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"2.5\" fill=\"#2563eb\"/>\
             <text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{value:.1}</text>\
             <text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\" fill=\"#666\">{count}</text>",
            y - 5.0,
            MARGIN + tall + 12.0,
        );
    }
    let _ = write!(
        text,
        "<polyline points=\"{line}\" fill=\"none\" stroke=\"#2563eb\" stroke-width=\"1.5\"/>"
    );
    text
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}

#[expect(clippy::cast_precision_loss, reason = "counts of panels and points")]
fn number(count: usize) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panel_for_each() {
        let mut curve = Curve::new("hooks", "status <b>", "ms");
        curve.points = vec![(1, 2.0), (2, 1.0)];
        let drawn = draw(&[curve]);
        assert_eq!(drawn.matches("<circle").count(), 2);
        assert!(drawn.starts_with("<svg") && drawn.contains("status &lt;b>"));
        assert!(draw(&[]).ends_with("</svg>\n"));
    }
}
