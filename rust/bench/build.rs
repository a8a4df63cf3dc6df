//! Links the C library of the build folder that SEALANE_BUILD names.

fn main() {
    println!("cargo:rerun-if-env-changed=SEALANE_BUILD");
    if let Ok(folder) = std::env::var("SEALANE_BUILD") {
        println!("cargo:rustc-link-search=native={folder}");
        println!("cargo:rustc-link-lib=static=sealane");
        println!("cargo:rustc-cfg=c_library");
        println!("cargo:rerun-if-changed={folder}/libsealane.a");
    }
    println!("cargo:rustc-check-cfg=cfg(c_library)");
}
