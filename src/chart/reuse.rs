//! What the values of the last revision mean for the next one: Helm's `--reset-values`, `--reuse-values` and
//! `--reset-then-reuse-values`.
//!
//! Source: Helm `pkg/action/upgrade.go`, `reuseValues`.

use super::coalesce::{Merger, Mode};
use super::tables::from_map;
use super::{Chart, ChartError};
use crate::template::convert::to_value;
use crate::template::value::{Map as Table, Val};
use crate::value::Map;
use crate::values::ReuseValues;

/// The last revision, as far as its values go.
#[derive(Clone, Copy, Debug)]
pub struct LastValues<'a> {
    /// The defaults of its chart as the record stores them; nothing if it has none.
    pub defaults: Option<&'a Map>,
    /// What the user gave.
    pub config: &'a Map,
}

/// Returns what the user gives in effect. With [`ReuseValues::Reuse`] the defaults of `chart` are replaced by those of
/// the last revision.
///
/// # Errors
/// Values that cannot be merged.
pub fn reuse_values(
    mode: ReuseValues,
    chart: &mut Chart,
    last: LastValues<'_>,
    given: &Map,
    merger: &mut Merger,
) -> Result<Map, ChartError> {
    match mode {
        ReuseValues::Reset => return Ok(given.clone()),
        ReuseValues::Reuse => {
            // A record stores no charts inside, so only the table of the chart itself is merged.
            let stored = Chart {
                metadata: chart.metadata.clone(),
                values: last.defaults.cloned(),
                dependencies: Vec::new(),
                ..Chart::default()
            };
            let old = merger.values(&stored, &from_map(last.config), Mode::Coalesce)?;
            chart.values = Some(plain(old)?);
        }
        ReuseValues::ResetThenReuse => {}
    }
    let values = from_map(given);
    merger.tables(&values, &from_map(last.config), "", Mode::Coalesce);
    plain(values)
}

fn plain(table: Table) -> Result<Map, ChartError> {
    Ok(to_value(&Val::Map(table))?.as_map().cloned().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::Value;
    use crate::value::json::{Numbers, map_from_slice};

    fn map(json: &str) -> Map {
        map_from_slice(json.as_bytes(), Numbers::Float).unwrap()
    }

    #[test]
    fn each_mode_takes_what_helm_takes() {
        // given, expected user values, expected defaults of the new chart
        let new_defaults = r#"{"a":"new","b":"new","only_new":1}"#;
        for (mode, given, config, defaults) in [
            (ReuseValues::Reset, "{}", "{}", new_defaults),
            (ReuseValues::Reset, r#"{"a":1}"#, r#"{"a":1}"#, new_defaults),
            (
                ReuseValues::Reuse,
                r#"{"a":1}"#,
                r#"{"a":1,"b":"was","t":{"x":1,"y":2}}"#,
                r#"{"a":"old","b":"was","only_old":1,"t":{"x":1,"y":2}}"#,
            ),
            (
                ReuseValues::ResetThenReuse,
                r#"{"t":{"y":3}}"#,
                r#"{"b":"was","t":{"x":1,"y":3}}"#,
                new_defaults,
            ),
            // A null takes the value of the last revision away, and does not reach the chart.
            (ReuseValues::ResetThenReuse, r#"{"b":null}"#, r#"{"t":{"x":1,"y":2}}"#, new_defaults),
        ] {
            let mut chart = Chart { values: Some(map(new_defaults)), ..Chart::default() };
            let (old, was) =
                (map(r#"{"a":"old","b":"old","only_old":1}"#), map(r#"{"b":"was","t":{"x":1,"y":2}}"#));
            let last = LastValues { defaults: Some(&old), config: &was };
            let values = reuse_values(mode, &mut chart, last, &map(given), &mut Merger::default()).unwrap();
            assert_eq!(Value::Map(values), Value::Map(map(config)), "{mode:?} {given}");
            assert_eq!(chart.values.map(Value::Map), Some(Value::Map(map(defaults))), "{mode:?} {given}");
        }
    }
}
