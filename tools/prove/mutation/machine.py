"""Runs machine code on this CPU, or in qemu for other architectures. machine.c is the program that calls it."""
import functools
import os
import re
import select
import struct
import subprocess

from elftools.elf.elffile import ELFFile
from isa import arm32, arm64, riscv, x86
from spec.args import ROOT

CODE, SECONDS, WINDOW = 0x50000000, 1, 256  # address of the code; CPU seconds per request; bytes copied per record
AROUND = 8  # bytes of the number that stands for the kept parts
# The compiler, the emulator, and the start of an assembly source.
BUILD = {x86: (["cc", "-mno-red-zone"], [], ".intel_syntax noprefix"),
         arm64: (["aarch64-linux-gnu-gcc"], ["qemu-aarch64", "-cpu", "max"], ""),
         arm32: (["arm-linux-gnueabihf-gcc", "-marm"], ["qemu-arm", "-cpu", "max"], ".arm\n.syntax unified\n.fpu neon"),
         riscv: (["riscv64-linux-gnu-gcc"], ["qemu-riscv64"], ".option norvc")}


@functools.cache
def emulator():
    """Of RISC-V's vectors: the one that tools/bootstrap has fetched, or the system's; and its version."""
    fetched = os.path.join(ROOT, os.environ.get("B", "build"), "qemu", "usr", "bin", "qemu-riscv64")
    path = fetched if os.access(fetched, os.X_OK) else "qemu-riscv64"
    return path, int(re.search(r"version (\d+)", subprocess.run([path, "--version"], stdout=subprocess.PIPE, text=True, check=True).stdout)[1])


def cryptography():
    """Whether it has Zvkb, Zvkg and Zvkned."""
    return emulator()[1] >= 9


def build_of(isa):
    if isa in BUILD:
        return BUILD[isa]
    if vlen := getattr(isa, "vlen", None):
        cpu = f"rv64,v=on,vlen={vlen},rvv_ta_all_1s=on,rvv_ma_all_1s=on" + ",zvkb=on,zvkg=on,zvkned=on" * cryptography()
        return [*BUILD[riscv][0]], [emulator()[0], "-cpu", cpu], BUILD[riscv][2] + "\n.option arch, +v"
    wide = isa.POINTER == 64
    name = "mips" + "64" * wide + "el" * (not isa.big)
    return [f"{name}-linux-gnu{'abi64' * wide}-gcc"], [f"qemu-{name}"], ".set noreorder\n.set noat\n.set nomacro"


def assemble(isa, text, folder):
    """The machine code of instructions."""
    compiler, _, head = build_of(isa)
    source = f"{head}\n{text}\n"
    subprocess.run([*compiler, "-c", "-o", folder + "/a.o", "-x", "assembler", "-"], input=source, text=True, check=True)
    with open(folder + "/a.o", "rb") as f:
        return ELFFile(f).get_section_by_name(".text").data()


class Server:
    """A process that calls machine code. A new process replaces one that has died."""

    def __init__(self, isa, folder):
        compiler, self.emulator, _ = build_of(isa)
        self.order = ">" if getattr(isa, "big", False) else "<"
        self.program, self.process = folder + "/machine", None
        # The program lies apart from the addresses that calls use.
        subprocess.run([*compiler, "-O1", "-static", "-no-pie", "-Wl,-Ttext-segment=0x60000000", f"-DCODE={CODE:#x}",
                        f"-DSECONDS={SECONDS}", f"-DWINDOW={WINDOW}", "-o", self.program,
                        os.path.join(os.path.dirname(__file__), "machine.c")], check=True)

    def call(self, code, arguments, parts, calls=1, stride=0, window=0):
        """Calls the code with these parts of memory: (start, content, whether it comes back, whether it is kept). Returns
        a number that stands for the kept parts and the bytes around them, and the bytes that come back; or None."""
        if self.process is None or self.process.poll() is not None:
            self.process = subprocess.Popen([*self.emulator, self.program], bufsize=0, stdin=subprocess.PIPE,
                                            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        parts = [(CODE, code, False, False), *parts]
        said = struct.pack(self.order + "7Q", len(parts), *arguments, calls, stride, window)
        said += b"".join(struct.pack(self.order + "4Q", start, len(content), back, kept) for start, content, back, kept in parts)
        said = memoryview(said + b"".join(content for _, content, _, _ in parts))
        want = AROUND + sum(len(content) for _, content, back, _ in parts if back)
        got = bytearray()
        try:
            while said:
                said = said[self.process.stdin.write(said):]
            while len(got) < want and self.answers() and (more := self.process.stdout.read(want - len(got))):
                got += more
        except BrokenPipeError:
            got = b""
        if len(got) == want:
            return bytes(got[:AROUND]), bytes(got[AROUND:])
        self.process.kill()
        self.process.wait()
        self.process = None
        return None

    def answers(self):
        """Waits for an answer. False if the process sleeps for a second: a mutant may have jumped to where it reads."""
        asleep = 0
        while not select.select([self.process.stdout], [], [], 0.2)[0]:
            with open(f"/proc/{self.process.pid}/stat") as f:
                state = f.read().rpartition(")")[2].split()[0]
            asleep = asleep + 1 if state == "S" else 0
            if asleep == 5:
                return False
        return True

    def close(self):
        if self.process:
            self.process.stdin.close()
            self.process.wait()
