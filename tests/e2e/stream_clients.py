#!/usr/bin/env python3
"""WebSocket and EventSource clients of others, from npm, through the gateway: stream_clients.py --binary SEMEL --build FOLDER

`ws` talks to a server of the same package, `eventsource` to one that ends its stream now and then. Without node, npm or a
registry that can be reached the test is skipped (exit code 77) and says why.
"""
import json
import pathlib

import harness
import npm
import programs

SOURCE = pathlib.Path(__file__).resolve().parent / "streams_npm"


class StreamClients(harness.Case):
    folder = None

    def test_both_get_what_the_server_sent(self):
        """Messages of every length of a frame, in pieces, compressed; pings; a close with its reason; events, and the
        way back to them after the stream has ended."""
        origin = programs.Printing("node", "origin.mjs", cwd=self.folder)
        self.addCleanup(origin.close)
        with self.gateway(upstream="%s:%d" % origin.start().address) as semel:
            done = programs.run("node", "clients.mjs", semel.address[1], cwd=self.folder, seconds=60)
            self.assertEqual(done.returncode, 0, done.stderr)
            said = json.loads(done.stdout)
            self.assertEqual(said["socket"], {
                "echoed": [True] * 7, "joined": "one, two", "pong": "are you there", "who": "/v1/socket?a=b 1.1 semel",
                "protocol": "chat.v2", "extensions": "permessage-deflate", "code": 4001, "reason": "as you wish"})
            ticks = [(str(n), f"{n}\nof {(n - 1) // 3 * 3}") for n in range(1, 8)]
            self.assertEqual([tuple(event) for event in said["events"]["seen"]], ticks)
            self.assertGreaterEqual(said["events"]["errors"], 2)
            self.assertEqual(semel.stop(), 0, semel.stderr())


if __name__ == "__main__":
    npm.run(StreamClients, SOURCE)
