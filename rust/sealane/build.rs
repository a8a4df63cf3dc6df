//! Tells the compiler which kernels this target has, and the format of its object files. With the feature
//! `build-from-source`, a C compiler assembles the kernels from asm/.

fn main() {
    let target = |name: &str| std::env::var(format!("CARGO_CFG_TARGET_{name}")).unwrap_or_default();
    let (arch, os) = (target("ARCH"), target("OS"));
    let has = |feature: &str| target("FEATURE").split(',').any(|one| one == feature);
    let is = |width: &str| target("POINTER_WIDTH") == width && target("ENDIAN") == "little";
    let kernels = match &arch[..] {
        _ if std::env::var_os("CARGO_CFG_MIRI").is_some() => "none",
        "x86_64" if is("64") && has("sse2") && target("ENV") != "sgx" => "x86_64",
        "aarch64" if is("64") && has("neon") => "aarch64",
        // Linux reports the CPU features, through the C library that std links to.
        "arm" if is("32") && os == "linux" && cfg!(feature = "std") => "arm",
        "riscv64" if is("64") && has("m") => "riscv64",
        _ => "none",
    };
    let objects = match &os[..] {
        "windows" | "uefi" | "cygwin" => "coff",
        _ if target("VENDOR") == "apple" => "macho",
        _ => "elf",
    };
    println!("cargo::rustc-cfg=kernels=\"{kernels}\"\ncargo::rustc-cfg=objects=\"{objects}\"");
    println!("cargo::rustc-check-cfg=cfg(kernels, values(\"x86_64\", \"aarch64\", \"arm\", \"riscv64\", \"none\"))");
    if ["x86_64", "aarch64", "arm"].contains(&&arch[..]) {
        println!("cargo::rustc-cfg=polyval"); // these kernels implement POLYVAL, for AES-GCM-SIV
    }
    println!("cargo::rustc-check-cfg=cfg(polyval)");
    println!("cargo::rustc-check-cfg=cfg(objects, values(\"elf\", \"macho\", \"coff\"))");
    println!("cargo::rerun-if-changed=build.rs");
    #[cfg(feature = "build-from-source")]
    from_source(kernels, objects);
}

/// Writes the kernels under the names that the tables use.
#[cfg(feature = "build-from-source")]
fn from_source(kernels: &str, objects: &str) {
    assert!(
        objects != "coff",
        "build-from-source: on this target Rust calls kernels otherwise than C, so use the rows"
    );
    if kernels == "none" {
        return;
    }
    let version = env!("CARGO_PKG_VERSION").replace('.', "_");
    let mut build = cc::Build::new();
    build.flag_if_supported("-fcf-protection");
    for file in std::fs::read_dir(format!("asm/{kernels}")).expect("asm/ is in the crate") {
        let path = file.expect("a file").path();
        let Some(name) = path.file_name().and_then(|name| name.to_str()?.strip_suffix(".S")) else { continue };
        for what in ["", "_constants"] {
            build.define(&format!("sealane_{name}{what}"), &*format!("sealane_{version}_{name}{what}"));
        }
        build.file(path);
    }
    println!("cargo::rerun-if-changed=asm");
    build.compile("sealane_kernels");
}
