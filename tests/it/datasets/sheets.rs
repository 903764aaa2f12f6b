//! Spreadsheets, made here of their parts: a workbook is a zip of XML.

use super::{Place, columns, rows, table};
use ralphd::dataset::ImportLimits;
use serde_json::json;
use std::io::{Cursor, Write};
use zip::write::SimpleFileOptions;

/// A workbook with these sheets: name, and the XML of its rows.
pub fn workbook(sheets: &[(&str, &str)]) -> Vec<u8> {
    let main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main";
    let relations = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";
    let package = "http://schemas.openxmlformats.org/package/2006/relationships";
    let mut parts = vec![
        (
            "_rels/.rels".to_owned(),
            format!(
                "<Relationships xmlns=\"{package}\"><Relationship Id=\"rId1\" Type=\"{relations}/officeDocument\" Target=\"xl/workbook.xml\"/></Relationships>"
            ),
        ),
        (
            "xl/styles.xml".to_owned(),
            format!(
                "<styleSheet xmlns=\"{main}\"><cellXfs count=\"2\"><xf numFmtId=\"0\"/><xf numFmtId=\"14\"/></cellXfs></styleSheet>"
            ),
        ),
        (
            "xl/sharedStrings.xml".to_owned(),
            format!("<sst xmlns=\"{main}\"><si><t>East</t></si><si><t>00123</t></si></sst>"),
        ),
    ];
    let mut listed = String::new();
    let mut related = String::new();
    for (index, (name, content)) in sheets.iter().enumerate() {
        let number = index + 1;
        listed += &format!("<sheet name=\"{name}\" sheetId=\"{number}\" r:id=\"rId{number}\"/>");
        related += &format!(
            "<Relationship Id=\"rId{number}\" Type=\"{relations}/worksheet\" Target=\"worksheets/sheet{number}.xml\"/>"
        );
        parts.push((
            format!("xl/worksheets/sheet{number}.xml"),
            format!("<worksheet xmlns=\"{main}\"><sheetData>{content}</sheetData></worksheet>"),
        ));
    }
    related += &format!(
        "<Relationship Id=\"s1\" Type=\"{relations}/styles\" Target=\"styles.xml\"/><Relationship Id=\"s2\" Type=\"{relations}/sharedStrings\" Target=\"sharedStrings.xml\"/>"
    );
    parts.push(("xl/workbook.xml".to_owned(), format!("<workbook xmlns=\"{main}\" xmlns:r=\"{relations}\"><sheets>{listed}</sheets></workbook>")));
    parts.push((
        "xl/_rels/workbook.xml.rels".to_owned(),
        format!("<Relationships xmlns=\"{package}\">{related}</Relationships>"),
    ));
    let mut archive = zip::ZipWriter::new(Cursor::new(Vec::new()));
    for (name, content) in parts {
        archive
            .start_file(name, SimpleFileOptions::default())
            .unwrap();
        archive.write_all(content.as_bytes()).unwrap();
    }
    archive.finish().unwrap().into_inner()
}

const ORDERS: &str = r#"
<row r="2"><c r="B2" t="inlineStr"><is><t>id</t></is></c><c r="C2" t="inlineStr"><is><t>Total (€)</t></is></c><c r="D2" t="inlineStr"><is><t>when</t></is></c><c r="E2" t="inlineStr"><is><t>region</t></is></c><c r="F2" t="inlineStr"><is><t>paid</t></is></c></row>
<row r="3"><c r="B3"><v>1</v></c><c r="C3"><v>10.5</v></c><c r="D3" s="1"><v>45292</v></c><c r="E3" t="s"><v>0</v></c><c r="F3" t="b"><v>1</v></c></row>
<row r="5"><c r="B5"><v>2</v></c><c r="C5" t="e"><v>#N/A</v></c><c r="D5" s="1"><v>45293.5</v></c><c r="E5" t="s"><v>1</v></c><c r="F5" t="b"><v>0</v></c><c r="G5"><v>7</v></c></row>"#;
const NOTES: &str = r#"<row r="1"><c r="A1" t="inlineStr"><is><t>note</t></is></c></row><row r="2"><c r="A2" t="inlineStr"><is><t>hello</t></is></c></row>"#;

#[test]
fn every_sheet_that_is_not_empty_is_a_table() {
    let place = Place::new();
    place.write(
        "orders.xlsx",
        workbook(&[("Empty", ""), ("Main", ORDERS), ("More notes", NOTES)]),
    );
    let datasets = place.prepare().unwrap();
    let orders = table(&datasets, "orders");
    assert_eq!(
        columns(orders),
        [
            "id integer",
            "Total real",
            "\"when\" datetime",
            "region text",
            "paid boolean",
            "column_6 integer"
        ]
    );
    assert_eq!(
        rows(&datasets, "SELECT * FROM orders"),
        [
            [
                json!(1),
                json!(10.5),
                json!("2024-01-01"),
                json!("East"),
                json!(1),
                json!(null)
            ],
            [
                json!(2),
                json!(null),
                json!("2024-01-02 12:00:00"),
                json!("00123"),
                json!(0),
                json!(7)
            ],
        ]
    );
    assert_eq!(
        rows(&datasets, "SELECT note FROM orders_More_notes"),
        [[json!("hello")]]
    );
    assert_eq!(orders.source, "orders.xlsx, sheet \"Main\"");
}

#[test]
fn a_small_file_that_unpacks_to_much_is_refused() {
    let place = Place::new();
    let bomb = format!("{NOTES}{}", " ".repeat(2_000_000));
    place.write("bomb.xlsx", workbook(&[("Main", &bomb)]));
    assert!(std::fs::metadata(place.file("bomb.xlsx")).unwrap().len() < 20_000);
    let limits = ImportLimits {
        whole_file_bytes: 1_000_000,
        ..ImportLimits::default()
    };
    let trouble = place.prepare_with(&limits).unwrap_err();
    assert!(
        trouble
            .message
            .contains("bomb.xlsx: unpacked it has more than 1000000 bytes"),
        "{trouble}"
    );
}

#[test]
fn empty_and_wide_workbooks_are_refused() {
    let place = Place::new();
    place.write("a.xlsx", workbook(&[("Empty", "")]));
    assert!(
        place
            .prepare()
            .unwrap_err()
            .message
            .contains("no sheet has any cell")
    );
    let wide = r#"<row r="1"><c r="A1"><v>1</v></c><c r="XFD1"><v>1</v></c></row>"#;
    place.write("a.xlsx", workbook(&[("Wide", wide)]));
    let trouble = place.prepare().unwrap_err();
    assert!(
        trouble
            .message
            .contains("sheet \"Wide\": more than 500 columns"),
        "{trouble}"
    );
}
