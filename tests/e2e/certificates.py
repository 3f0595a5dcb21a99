"""Certificates for tests, made by the openssl program: authorities, servers, clients."""
import pathlib
import subprocess


def _openssl(*arguments, folder):
    subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True)


class Authority:
    """Signs certificates. Everything is a PEM file in one folder."""

    def __init__(self, folder, name="ca"):
        self.folder = pathlib.Path(folder)
        self.name = name
        self.path = self.folder / f"{name}.pem"
        _openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
                 "-subj", f"/CN={name}", "-keyout", f"{name}.key", "-out", f"{name}.pem", folder=self.folder)

    def authorise(self, name):
        """An authority below this one."""
        self._certify(name, f"/CN={name}", "basicConstraints=critical,CA:TRUE\n", 2)
        below = Authority.__new__(Authority)
        below.folder, below.name, below.path = self.folder, name, self.folder / f"{name}.pem"
        return below

    def sign(self, name, subject, alt="DNS:localhost,IP:127.0.0.1", days=2):
        """The paths of a certificate and its key."""
        return self._certify(name, subject, f"subjectAltName={alt}\n", days)

    def sign_without_names(self, name, subject, days=2):
        """The same, with no alternative name."""
        return self._certify(name, subject, "basicConstraints=CA:FALSE\n", days)

    def _certify(self, name, subject, extension, days):
        extensions = self.folder / f"{name}.ext"
        extensions.write_text(extension, encoding="ascii")
        _openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", subject,
                 "-keyout", f"{name}.key", "-out", f"{name}.csr", folder=self.folder)
        _openssl("x509", "-req", "-in", f"{name}.csr", "-CA", f"{self.name}.pem", "-CAkey", f"{self.name}.key",
                 "-CAcreateserial", "-days", str(days), "-extfile", f"{name}.ext", "-out", f"{name}.pem",
                 folder=self.folder)
        return self.folder / f"{name}.pem", self.folder / f"{name}.key"
