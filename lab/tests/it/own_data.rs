//! Files that people have, through the scenarios.
//!
//! The data sets lie outside the repository: `BINDERY_DATA` names their folder, and without it there is
//! nothing to read.

use std::path::PathBuf;

use bindery_lab::measure::Silent;
use bindery_lab::own_data::{self, Files};
use bindery_lab::scenario::{Scenario, bucket, subset};

use crate::transfer::transfers;

fn files(names: &[&str]) -> Option<Files> {
    let Some(folder) = std::env::var_os("BINDERY_DATA") else {
        eprintln!("BINDERY_DATA is not set: no files were read");
        return None;
    };
    let paths = names.iter().map(|name| PathBuf::from(&folder).join(name)).collect();
    Some(Files { paths, ..Files::default() })
}

#[test]
fn occupancy_has_one_sensor_and_row_names() {
    let names = ["occupancy/datatraining.txt", "occupancy/datatest.txt", "occupancy/datatest2.txt"];
    let Some(files) = files(&names) else { return };
    let files = Files { drop: vec!["row".to_owned()], ..files };
    let fields = bucket::Fields { time: "date".to_owned(), meta: None, value: "Temperature".to_owned() };
    let scenario = own_data::bucket(&files, fields, None, bucket::Order::Time, 1, &Silent);
    let scenario = scenario.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(scenario.data().documents, 20_560);
    transfers(&scenario);
}

#[test]
fn weather_is_hourly_with_missing_values() {
    let Some(files) = files(&["nyc-weather/weather.csv"]) else { return };
    let fields =
        bucket::Fields { time: "time_hour".to_owned(), meta: Some("origin".to_owned()), value: "wind_gust".to_owned() };
    let scenario = own_data::bucket(&files, fields, None, bucket::Order::Given, 1, &Silent);
    let scenario = scenario.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(scenario.data().documents, 26_115);
    transfers(&scenario);
}

#[test]
fn parts_have_attributes_of_mixed_type() {
    let Some(files) = files(&["pc-parts/parts.jsonl"]) else { return };
    let kept = ["kind", "name", "price"].map(str::to_owned).to_vec();
    let scenario = own_data::attribute(&files, kept, 1, &Silent).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(scenario.data().documents, 66_778);
    transfers(&scenario);
}

#[test]
fn movies_have_ratings() {
    let (Some(movies), Some(ratings)) =
        (files(&["movielens-small/movies.csv"]), files(&["movielens-small/ratings.csv"]))
    else {
        return;
    };
    let fields =
        subset::Fields { array: "ratings".to_owned(), key: "movieId".to_owned(), order: "timestamp".to_owned() };
    let scenario = own_data::subset(&movies, "movieId", Some(&ratings), fields, &Silent);
    let scenario = scenario.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(scenario.data().documents, 9_742 + 100_836);
    transfers(&scenario);
}

#[test]
fn posts_have_comments() {
    let (Some(posts), Some(comments)) =
        (files(&["stackexchange/posts.jsonl"]), files(&["stackexchange/comments.jsonl"]))
    else {
        return;
    };
    let fields =
        subset::Fields { array: "comments".to_owned(), key: "PostId".to_owned(), order: "CreationDate".to_owned() };
    let scenario = own_data::subset(&posts, "Id", Some(&comments), fields, &Silent);
    let scenario = scenario.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(scenario.data().documents, 781 + 1_305);
    transfers(&scenario);
}

#[test]
fn fields_that_are_not_there_are_named() {
    let Some(files) = files(&["nyc-weather/weather.csv"]) else { return };
    let fields = |time: &str, meta: &str| bucket::Fields {
        time: time.to_owned(),
        meta: Some(meta.to_owned()),
        value: "temp".to_owned(),
    };
    for (fields, part) in [
        (fields("when", "origin"), "no field `when`"),
        (fields("month", "origin"), "--time-unit"),
        (fields("origin", "origin"), "no date"),
        (fields("time_hour", "wind_gust"), "no field `wind_gust`"),
    ] {
        match own_data::bucket(&files, fields, None, bucket::Order::Given, 1, &Silent) {
            Err(error) => assert!(error.to_string().contains(part), "{error}"),
            Ok(_) => panic!("{part}"),
        }
    }
}
