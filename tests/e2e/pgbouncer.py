"""A PgBouncer in front of a PostgreSQL server, in transaction mode, in a folder of its own."""
import shutil
import subprocess

import postgres_server
import programs

PROGRAM = "/usr/sbin/pgbouncer"
PORT = 6432
CONFIG = """[databases]
* = host={server} user=postgres
[pgbouncer]
listen_port = {port}
unix_socket_dir = {folder}
auth_type = any
pool_mode = transaction
default_pool_size = 4
server_login_retry = 0.1
"""


class PgBouncer(programs.Program):
    def __init__(self, server):
        folder = postgres_server.own_folder()
        super().__init__(*postgres_server.unprivileged(PROGRAM, folder / "pgbouncer.ini"), folder=folder)
        (folder / "pgbouncer.ini").write_text(CONFIG.format(server=server.sockets, port=PORT, folder=folder), encoding="ascii")

    def url_of(self, database):
        return f"postgres:///{database}?host={self.folder}&port={PORT}&user=postgres"

    def is_ready(self):
        return subprocess.run([postgres_server.PROGRAMS / "pg_isready", "-q", "-h", self.folder, "-p", str(PORT)],
                              check=False).returncode == 0

    def close(self):
        super().close()
        shutil.rmtree(self.folder, ignore_errors=True)
