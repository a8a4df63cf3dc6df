// Runs a program that is compiled for wasm32-wasip1: node rust/wasi.mjs PROGRAM [ARGUMENT...]
import { readFile } from "node:fs/promises";
import { WASI } from "node:wasi";

const args = process.argv.slice(2);
const wasi = new WASI({ version: "preview1", args, env: process.env, preopens: { "/": "/" } });
wasi.start(await WebAssembly.instantiate(await WebAssembly.compile(await readFile(args[0])), wasi.getImportObject()));
