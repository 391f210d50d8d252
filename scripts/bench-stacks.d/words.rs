use std::collections::{BTreeMap, HashMap};
use std::thread;

fn count(n: u64) -> u64 {
    let mut found: HashMap<String, u64> = HashMap::new();
    for i in 0..30000 {
        *found.entry(format!("k{}", i * n % 997)).or_insert(0) += i;
    }
    let ordered: BTreeMap<&String, &u64> = found.iter().collect();
    ordered.iter().map(|(k, v)| k.len() as u64 * **v).sum()
}

fn main() {
    let threads: Vec<_> = (1..9).map(|t| thread::spawn(move || (t..t + 12).map(count).sum::<u64>())).collect();
    println!("{}", threads.into_iter().map(|t| t.join().unwrap()).sum::<u64>());
}
