//! Images of containers and nodes, named alike.

use muster_core::ids::Name;

use crate::objects::{NodeImage, PodSpec};

/// Images of all containers with their tags, sorted. A container without image counts with an empty
/// name, which no node holds; a pod without any image has none.
pub(in crate::objects) fn of_pod(spec: &PodSpec) -> Vec<Name> {
    let containers = spec.init_containers.iter().chain(&spec.containers);
    let mut images: Vec<Name> = containers.map(|container| tagged(&container.image)).collect();
    images.sort();
    if images.iter().all(Name::is_empty) { Vec::new() } else { images }
}

/// The name as nodes report it: with the tag `latest` where it has neither tag nor digest.
fn tagged(image: &str) -> Name {
    let has_tag = image.rfind(':') > image.rfind('/');
    if image.is_empty() || has_tag { image.into() } else { format!("{image}:latest").into() }
}

/// Every name of every image with its size, sorted.
pub(in crate::objects) fn of_node(images: &[NodeImage]) -> Vec<(Name, i64)> {
    let names = images.iter().flat_map(|image| {
        image.names.iter().map(|name| (Name::from(name.as_str()), image.size_bytes.max(0)))
    });
    let mut names: Vec<(Name, i64)> = names.collect();
    names.sort();
    names.dedup_by(|a, b| a.0 == b.0);
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_without_tag_is_the_latest() {
        let table = [
            ("app", "app:latest"),
            ("app:1", "app:1"),
            ("host:5000/app", "host:5000/app:latest"),
            ("host:5000/app:1", "host:5000/app:1"),
            ("app@sha256:abc", "app@sha256:abc"),
            ("", ""),
        ];
        for (given, want) in table {
            assert_eq!(&*tagged(given), want);
        }
    }
}
