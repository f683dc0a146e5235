//! Bytes under their hash.

use bytes::Bytes;
use tine_nats::{BlobCache, BlobHash, ClusterError};

use crate::house::House;

/// More than a message holds, and no part like another.
fn large() -> Bytes {
    (0..5_000_000_u32).map(|index| (index / 251) as u8 ^ (index >> 3) as u8).collect()
}

#[tokio::test]
#[ignore = "needs nats-server: cargo xtask hosts nats"]
async fn an_empty_blob_and_one_in_parts_come_back() {
    let house = House::new();
    let (here, there) = (house.cluster().await, house.cluster().await);
    for blob in [Bytes::new(), large()] {
        let (hash, sent) = here.put(blob.clone()).await.unwrap();
        assert_eq!((hash, sent), (BlobHash::of(&blob), blob.len()));
        assert_eq!(there.put(blob.clone()).await.unwrap(), (hash, 0), "it is there already");
        assert_eq!(there.get(hash).await.unwrap(), blob);
    }
}

#[tokio::test]
#[ignore = "needs nats-server: cargo xtask hosts nats"]
async fn who_upload_the_same_at_once_leave_one_copy() {
    let house = House::new();
    let clusters = [house.cluster().await, house.cluster().await, house.cluster().await];
    let (blob, hash) = (large(), BlobHash::of(&large()));
    let puts = clusters.iter().map(|cluster| cluster.put(blob.clone()));
    for put in futures_util::future::join_all(puts).await {
        assert_eq!(put.unwrap().0, hash);
    }
    assert_eq!(clusters[0].get(hash).await.unwrap(), blob);
    let mut stream = house.stream("TINE_BLOBS").await;
    let messages = stream.info().await.unwrap().state.messages;
    assert_eq!(messages, 10 + 1, "parts of 512 KiB, and their label");
}

#[tokio::test]
#[ignore = "needs nats-server: cargo xtask hosts nats"]
async fn what_is_missing_or_was_changed_is_an_error_and_is_mended_by_the_next_put() {
    let house = House::new();
    let cluster = house.cluster().await;
    let (blob, hash) = (large(), BlobHash::of(&large()));
    assert!(matches!(cluster.get(hash).await, Err(ClusterError::Gone(gone)) if gone == hash));
    cluster.put(blob.clone()).await.unwrap();

    let client = async_nats::connect(house.node.url()).await.unwrap();
    let jetstream = async_nats::jetstream::new(client);
    let part = format!("agent.blob.{hash}.3");
    jetstream.publish(part, "other bytes".into()).await.unwrap().await.unwrap();
    assert!(matches!(cluster.get(hash).await, Err(ClusterError::Corrupt(_))));

    // As the server does it where it has no room: the oldest go, and the label stays.
    let stream = house.stream("TINE_BLOBS").await;
    stream.purge().sequence(3).await.unwrap();
    assert!(matches!(cluster.get(hash).await, Err(ClusterError::Gone(_))));
    assert_eq!(cluster.put(blob.clone()).await.unwrap(), (hash, blob.len()));
    assert_eq!(cluster.get(hash).await.unwrap(), blob);
}

#[tokio::test]
#[ignore = "needs nats-server: cargo xtask hosts nats"]
async fn a_cache_keeps_what_was_used_last_and_trusts_no_file() {
    let house = House::new();
    let cluster = house.cluster().await;
    let directory = house.directory("cache");
    let cache = BlobCache::new(&directory, 25);
    let mut hashes = Vec::new();
    for text in ["ten bytes.", "ten words.", "tin cans.."] {
        hashes.push(cluster.put(Bytes::from_static(text.as_bytes())).await.unwrap().0);
    }
    let files = || {
        let names = std::fs::read_dir(&directory).unwrap();
        let mut names: Vec<String> =
            names.map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    };
    let named = |indices: [usize; 2]| {
        let mut names = indices.map(|index| hashes[index].to_string()).to_vec();
        names.sort();
        names
    };
    for hash in [hashes[0], hashes[1], hashes[0]] {
        cache.get(&cluster, hash).await.unwrap();
    }
    assert_eq!(files(), named([0, 1]));
    cache.get(&cluster, hashes[2]).await.unwrap();
    assert_eq!(files(), named([0, 2]), "the one that was used least recently went");

    // It is read from there, but only as long as it is what its name says.
    house.stream("TINE_BLOBS").await.purge().await.unwrap();
    assert_eq!(&cache.get(&cluster, hashes[0]).await.unwrap()[..], b"ten bytes.");
    std::fs::write(directory.join(hashes[0].to_string()), "tan bites.").unwrap();
    assert!(matches!(cache.get(&cluster, hashes[0]).await, Err(ClusterError::Gone(_))));
}

#[tokio::test]
#[ignore = "needs nats-server: cargo xtask hosts nats"]
async fn forks_of_one_parent_may_fetch_its_prefix_at_once() {
    let house = House::new();
    let cluster = house.cluster().await;
    let (hash, _) = cluster.put(large()).await.unwrap();
    let cache = BlobCache::new(house.directory("cache"), 10_000_000);
    let gets = (0..8).map(|_| cache.get(&cluster, hash));
    for got in futures_util::future::join_all(gets).await {
        assert_eq!(BlobHash::of(&got.unwrap()), hash);
    }
    assert_eq!(std::fs::read_dir(house.directory("cache")).unwrap().count(), 1);
}
