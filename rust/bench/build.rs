//! Links the C library in the build folder that SEALANE_BUILD names, and RustCrypto's crates in the folder that
//! SEALANE_NATIVE names, as native/ builds them. Passes the peers' versions to the program.

/// The version of a crate in Cargo.lock.
fn version<'a>(lock: &'a str, name: &str) -> &'a str {
    let entry = lock.split("[[package]]").find(|entry| entry.contains(&format!("\nname = \"{name}\"\n")));
    let version = entry.and_then(|entry| entry.split("version = \"").nth(1));
    version.and_then(|version| version.split('"').next()).expect("a version in Cargo.lock")
}

fn main() {
    let lock = std::fs::read_to_string("Cargo.lock").expect("Cargo.lock");
    for name in ["aes-gcm", "aws-lc-rs", "chacha20poly1305", "graviola", "ring"] {
        let variable = name.to_uppercase().replace('-', "_");
        println!("cargo:rustc-env=VERSION_{variable}={}", version(&lock, name));
    }
    println!("cargo:rerun-if-changed=Cargo.lock");
    println!("cargo:rerun-if-env-changed=SEALANE_BUILD");
    if let Ok(folder) = std::env::var("SEALANE_BUILD") {
        println!("cargo:rustc-link-search=native={folder}");
        println!("cargo:rustc-link-lib=static=sealane");
        println!("cargo:rustc-cfg=c_library");
        println!("cargo:rerun-if-changed={folder}/libsealane.a");
    }
    println!("cargo:rerun-if-env-changed=SEALANE_NATIVE");
    if let Ok(folder) = std::env::var("SEALANE_NATIVE") {
        println!("cargo:rustc-link-search=native={folder}");
        println!("cargo:rustc-link-arg=-Wl,-rpath,{folder}");
        println!("cargo:rustc-cfg=native");
    }
    println!("cargo:rustc-check-cfg=cfg(c_library)");
    println!("cargo:rustc-check-cfg=cfg(native)");
}
