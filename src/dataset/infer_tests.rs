//! What cells look like, what columns become, and that what goes in comes out.

use super::*;
use proptest::prelude::*;

fn decide(cells: &[&str]) -> ColumnType {
    let mut profile = Profile::default();
    for cell in cells {
        profile.see(&Cell::Written(cell));
    }
    profile.decide()
}

#[test]
fn columns_get_the_narrowest_type() {
    use ColumnType::*;
    for (cells, expected) in [
        (vec!["1", "-2", "0"], Integer),
        (vec!["9223372036854775807", "-9223372036854775808"], Integer),
        (vec!["9223372036854775808"], Text),
        (vec!["1", "00123"], Text),
        (vec!["01"], Text),
        (vec!["+4917612345"], Text),
        (vec!["1", "2.5"], Real),
        (vec!["0.5", "-0.25", ".5", "5."], Real),
        (vec!["1.5e10", "1e-5", "1e+16", "2.0E3"], Real),
        (vec!["12E3"], Text),
        (vec!["1e999"], Text),
        (vec!["1.5e999"], Text),
        (vec!["9007199254740993", "0.5"], Text),
        (vec!["9007199254740993", "1"], Integer),
        (vec!["00.5"], Text),
        (vec!["-"], Text),
        (vec!["."], Text),
        (vec!["-.e-1"], Text),
        (vec!["NaN", "inf"], Text),
        (vec!["1,5"], Text),
        (vec!["0x10"], Text),
        (vec!["1_000"], Text),
        (vec!["true", "FALSE", "False"], Boolean),
        (vec!["true", "1"], Text),
        (vec!["yes"], Text),
        (vec!["2024-01-31", "1999-12-01"], Date),
        (vec!["2024-01-31", "2024-01-31T10:00"], DateTime),
        (
            vec!["2024-01-31 10:00:00.123+01:00", "2024-01-31T10:00:00Z"],
            DateTime,
        ),
        (vec!["2024-13-01"], Text),
        (vec!["31.12.2024"], Text),
        (vec!["2024-01-31", "soon"], Text),
        (vec!["", "", ""], Text),
        (vec!["", " ", "5"], Integer),
        (vec![" 5", "6 "], Integer),
        (vec!["ä", "5"], Text),
    ] {
        assert_eq!(decide(&cells), expected, "{cells:?}");
    }
}

#[test]
fn cells_are_stored_by_their_column() {
    use ColumnType::*;
    let null = Value::Null;
    for (cell, column, expected) in [
        (Cell::Written("5"), Integer, Value::Integer(5)),
        (Cell::Written(" 5 "), Integer, Value::Integer(5)),
        (Cell::Written("5"), Real, Value::Real(5.0)),
        (Cell::Written("5"), Text, Value::Text("5".into())),
        (Cell::Written("TRUE"), Boolean, Value::Integer(1)),
        (Cell::Written(""), Text, null.clone()),
        (Cell::Written(" "), Text, Value::Text(" ".into())),
        (Cell::Written(" "), Integer, null.clone()),
        (Cell::Text("".into()), Text, Value::Text(String::new())),
        (Cell::Integer(7), Text, Value::Text("7".into())),
        (Cell::Real(0.5), Text, Value::Text("0.5".into())),
        (Cell::Boolean(true), Boolean, Value::Integer(1)),
        (Cell::Boolean(true), Text, Value::Text("true".into())),
        (Cell::Null, Integer, null),
        // A file that changed between two looks still loses nothing.
        (Cell::Written("abc"), Integer, Value::Text("abc".into())),
    ] {
        assert_eq!(owned(&cell, column), expected, "{cell:?} as {column}");
    }
}

fn owned(cell: &Cell<'_>, column: ColumnType) -> Value {
    match stored(cell, column) {
        ToSqlOutput::Borrowed(value) => Value::try_from(value).unwrap(),
        ToSqlOutput::Owned(value) => value,
        _ => unreachable!("only values are stored"),
    }
}

proptest! {
    #[test]
    fn integers_come_back(numbers in prop::collection::vec(any::<i64>(), 1..20)) {
        let written: Vec<String> = numbers.iter().map(i64::to_string).collect();
        let cells: Vec<&str> = written.iter().map(String::as_str).collect();
        let column = decide(&cells);
        prop_assert_eq!(column, ColumnType::Integer);
        for (cell, number) in cells.iter().zip(&numbers) {
            prop_assert_eq!(owned(&Cell::Written(cell), column), Value::Integer(*number));
        }
    }

    #[test]
    fn reals_come_back(number in any::<f64>().prop_filter("finite", |n| n.is_finite())) {
        let written = format!("{number:?}");
        prop_assert_eq!(decide(&[&written]), ColumnType::Real);
        prop_assert_eq!(owned(&Cell::Written(&written), ColumnType::Real), Value::Real(number));
    }

    #[test]
    fn whatever_it_is_nothing_is_lost(cells in prop::collection::vec("[-+0-9.eE tTrRuUfalsSe:\u{e4}]{0,12}", 1..8)) {
        let cells: Vec<&str> = cells.iter().map(String::as_str).collect();
        let column = decide(&cells);
        for cell in cells {
            match owned(&Cell::Written(cell), column) {
                Value::Null => prop_assert!(cell.trim().is_empty()),
                Value::Integer(number) if column == ColumnType::Boolean => {
                    prop_assert_eq!(cell.trim().eq_ignore_ascii_case("true"), number == 1);
                }
                Value::Integer(number) => prop_assert_eq!(cell.trim().replace("-0", "0"), number.to_string()),
                Value::Real(number) => prop_assert_eq!(cell.trim().parse::<f64>().unwrap(), number),
                Value::Text(text) => prop_assert_eq!(text.trim(), cell.trim()),
                Value::Blob(_) => prop_assert!(false),
            }
        }
    }
}
