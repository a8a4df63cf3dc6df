# Homebrew formula of the C library and the command, written by make release. docs/releasing.md lists the checks made
# of it.
class Sealane < Formula
  desc "Authenticated encryption of network packets"
  homepage "https://github.com/sealane/sealane"
  url "https://github.com/sealane/sealane/releases/download/v@VERSION@/sealane-@VERSION@.tar.gz"
  sha256 "@SHA256@"
  license "BSD-3-Clause"

  depends_on "go" => :build

  def install
    system "make", "install", "PREFIX=#{prefix}"
    cd "cmd/sealane" do
      system "go", "build", *std_go_args(ldflags: "-s -w -X main.packaged=v#{version}"), "."
    end
  end

  test do
    (testpath/"version.c").write <<~C
      #include <sealane.h>
      #include <stdio.h>
      int main(void) { return puts(sealane_version()) < 0 || sealane_init(); }
    C
    system ENV.cc, "version.c", "-I#{include}", "-L#{lib}", "-lsealane", "-o", "version"
    assert_equal version.to_s, shell_output("./version").strip
    system bin/"sealane", "selftest"
  end
end
