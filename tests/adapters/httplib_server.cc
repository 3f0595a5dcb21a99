// A cpp-httplib server behind a Guard, for the scenarios and the hammer: httplib_server serve --config FILE
#include <csignal>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

#include "adapters/endpoints.h"
#include <semel/blocking_once.h>
#include <semel/httplib.h>

namespace {

// The handler: the scenario's upstream is the business code.
void forward(const semel::config::UpstreamConfig& upstream, const httplib::Request& request, httplib::Response& reply) {
  const auto& address = upstream.urls.front().authority;
  httplib::Client client(address.host, address.port);
  client.set_read_timeout(upstream.timeout);
  client.set_keep_alive(false);
  httplib::Request sent;
  sent.method = request.method;
  sent.path = request.target;
  sent.headers = request.headers;
  sent.body = request.body;
  for (const char* name : {"Content-Length", "Transfer-Encoding", "Connection", "Expect", "REMOTE_ADDR", "REMOTE_PORT",
                           "LOCAL_ADDR", "LOCAL_PORT"}) {
    sent.headers.erase(name);
  }
  const httplib::Result answer = client.send(sent);
  if (!answer) throw std::runtime_error(httplib::to_string(answer.error()));
  if (answer->status == 101) throw std::runtime_error("switching protocols is no answer");
  reply.status = answer->status;
  reply.headers = answer->headers;
  reply.body = answer->body;
}

}  // namespace

int main(int count, char** arguments) {
  sigset_t stop;
  sigemptyset(&stop);
  sigaddset(&stop, SIGTERM);
  sigaddset(&stop, SIGINT);
  pthread_sigmask(SIG_BLOCK, &stop, nullptr);
  semel::test::Endpoints endpoints = semel::test::load_endpoints(count, arguments);
  semel::BlockingOnce once(*endpoints.store, *endpoints.clock, std::random_device()());

  httplib::Server server;
  server.new_task_queue = [] { return new httplib::ThreadPool(200); };
  server.set_keep_alive_max_count(1'000'000);
  server.set_keep_alive_timeout(60);
  server.set_tcp_nodelay(true);
  const auto handle = [&](const httplib::Request& request, httplib::Response& reply) {
    const semel::test::Place* place = endpoints.find(request.target);
    if (place == nullptr) {
      reply.status = 404;
      return;
    }
    const auto business = [place](const httplib::Request& asked, httplib::Response& answer) {
      forward(*place->upstream, asked, answer);
    };
    semel::guarded(place->guard, once, business)(request, reply);
  };
  server.Get(".*", handle).Post(".*", handle).Put(".*", handle).Patch(".*", handle).Delete(".*", handle);
  server.Options(".*", handle);

  const auto& address = endpoints.config->server.listen;
  if (!server.bind_to_port(address.host, address.port)) return 1;
  semel::test::announce(address.port);
  std::jthread waiting([&] {
    int signal = 0;
    sigwait(&stop, &signal);
    server.stop();
  });
  server.listen_after_bind();
  once.close();
}
