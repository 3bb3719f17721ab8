// Streams of the sim plugin: in order, independent, and honest about being done.

#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>

#include "sim_plugin.h"

namespace sim_test {
namespace {

class SimStream : public testing::Test {
 protected:
  const Plugin& plugin_ = Plugin::shared();
};

TEST_F(SimStream, work_runs_in_the_order_given) {
  const plug_stream stream = plugin_.stream(0);
  std::vector<int> order;
  for (int i = 0; i < 10000; ++i) plugin_.enqueue(0, stream, [&order, i] { order.push_back(i); });
  ASSERT_EQ(plugin_->stream_sync(0, stream), PLUG_OK);
  ASSERT_EQ(order.size(), 10000u);
  for (int i = 0; i < 10000; ++i) ASSERT_EQ(order[static_cast<std::size_t>(i)], i);
  plugin_->stream_destroy(0, stream);
}

TEST_F(SimStream, a_function_of_the_host_learns_that_the_work_before_it_succeeded) {
  plug_status status = PLUG_INTERNAL;
  ASSERT_EQ(plugin_->host_func(
                0, nullptr, [](void* arg, plug_status s) { *static_cast<plug_status*>(arg) = s; },
                [](void*) {}, &status),
            PLUG_OK);
  ASSERT_EQ(plugin_->stream_sync(0, nullptr), PLUG_OK);
  EXPECT_EQ(status, PLUG_OK);
}

TEST_F(SimStream, two_streams_overlap) {
  const plug_stream one = plugin_.stream(0);
  const plug_stream other = plugin_.stream(0);
  std::latch both{3};  // passes only while all three streams are at work
  for (const plug_stream stream : {one, other, plug_stream{nullptr}}) {
    plugin_.enqueue(0, stream, [&] { both.arrive_and_wait(); });
  }
  EXPECT_EQ(plugin_->device_sync(0), PLUG_OK);
  plugin_->stream_destroy(0, one);
  plugin_->stream_destroy(0, other);
}

TEST_F(SimStream, a_query_is_not_done_while_the_last_task_runs) {
  const plug_stream stream = plugin_.stream(0);
  EXPECT_EQ(plugin_->stream_query(0, stream), PLUG_OK) << "nothing was ever enqueued";
  Gate gate(plugin_, 0, stream);
  EXPECT_EQ(plugin_->stream_query(0, stream), PLUG_NOT_READY);
  gate.wait_until_entered();
  EXPECT_EQ(plugin_->stream_query(0, stream), PLUG_NOT_READY);
  gate.open();
  EXPECT_EQ(plugin_->stream_sync(0, stream), PLUG_OK);
  EXPECT_EQ(plugin_->stream_query(0, stream), PLUG_OK);
  plugin_->stream_destroy(0, stream);
}

TEST_F(SimStream, a_sync_waits_for_its_own_stream_and_device_only) {
  const plug_stream held = plugin_.stream(0);
  const plug_stream free = plugin_.stream(0);
  Gate gate(plugin_, 0, held);
  gate.wait_until_entered();
  std::atomic<int> done{0};
  plugin_.enqueue(0, free, [&] { ++done; });
  EXPECT_EQ(plugin_->stream_sync(0, free), PLUG_OK);
  plugin_.enqueue(1, nullptr, [&] { ++done; });
  EXPECT_EQ(plugin_->device_sync(1), PLUG_OK);
  EXPECT_EQ(done, 2);
  EXPECT_EQ(plugin_->stream_query(0, held), PLUG_NOT_READY);
  gate.open();
  plugin_->stream_destroy(0, held);
  plugin_->stream_destroy(0, free);
}

TEST_F(SimStream, a_device_sync_waits_for_every_stream) {
  std::vector<plug_stream> streams = {nullptr};
  for (int i = 0; i < 4; ++i) streams.push_back(plugin_.stream(0));
  for (int round = 0; round < 50; ++round) {
    std::atomic<int> done{0};
    for (const plug_stream stream : streams) {
      for (int i = 0; i < 20; ++i) plugin_.enqueue(0, stream, [&] { ++done; });
    }
    ASSERT_EQ(plugin_->device_sync(0), PLUG_OK);
    ASSERT_EQ(done, 100);
  }
  for (std::size_t i = 1; i < streams.size(); ++i) plugin_->stream_destroy(0, streams[i]);
}

TEST_F(SimStream, many_threads_may_enqueue_and_each_keeps_its_order) {
  constexpr int kThreads = 8;
  constexpr int kEach = 5000;
  const plug_stream stream = plugin_.stream(0);
  std::vector<std::vector<int>> seen(kThreads);
  std::vector<std::thread> threads;
  for (int id = 0; id < kThreads; ++id) {
    threads.emplace_back([&, id] {
      auto& mine = seen[static_cast<std::size_t>(id)];
      for (int i = 0; i < kEach; ++i) plugin_.enqueue(0, stream, [&mine, i] { mine.push_back(i); });
    });
  }
  for (std::thread& thread : threads) thread.join();
  ASSERT_EQ(plugin_->stream_sync(0, stream), PLUG_OK);
  for (const auto& mine : seen) {
    ASSERT_EQ(mine.size(), std::size_t{kEach});
    EXPECT_TRUE(std::is_sorted(mine.begin(), mine.end()));
  }
  plugin_->stream_destroy(0, stream);
}

TEST_F(SimStream, a_hundred_thousand_functions_wait_their_turn_and_are_released_once) {
  struct Call {
    int runs = 0;
    int releases = 0;
    bool released_after_run = false;
  };
  std::vector<Call> calls(100000);
  const plug_stream stream = plugin_.stream(0);
  Gate gate(plugin_, 0, stream);
  for (Call& call : calls) {
    ASSERT_EQ(plugin_->host_func(
                  0, stream, [](void* arg, plug_status) { ++static_cast<Call*>(arg)->runs; },
                  [](void* arg) {
                    auto* call = static_cast<Call*>(arg);
                    call->released_after_run = call->runs == 1;
                    ++call->releases;
                  },
                  &call),
              PLUG_OK);
  }
  gate.open();
  ASSERT_EQ(plugin_->stream_sync(0, stream), PLUG_OK);
  for (const Call& call : calls) {
    ASSERT_EQ(call.runs, 1);
    ASSERT_EQ(call.releases, 1);
    ASSERT_TRUE(call.released_after_run);
  }
  plugin_->stream_destroy(0, stream);
}

TEST_F(SimStream, a_worker_that_has_gone_to_sleep_wakes_for_new_work) {
  const plug_stream stream = plugin_.stream(0);
  for (int round = 0; round < 200; ++round) {
    // From well inside the worker's spinning to well after it sleeps.
    std::this_thread::sleep_for(std::chrono::microseconds(round));
    bool done = false;
    plugin_.enqueue(0, stream, [&] { done = true; });
    ASSERT_EQ(plugin_->stream_sync(0, stream), PLUG_OK);
    ASSERT_TRUE(done);
  }
  plugin_->stream_destroy(0, stream);
}

TEST_F(SimStream, threads_that_sync_for_different_moments_all_wake) {
  const plug_stream stream = plugin_.stream(0);
  for (int round = 0; round < 100; ++round) {
    std::atomic<int> done{0};
    std::vector<std::thread> threads;
    for (int id = 0; id < 4; ++id) {
      threads.emplace_back([&] {
        for (int i = 0; i < 5; ++i) {
          plugin_.enqueue(0, stream, [&] { ++done; });
          plugin_->stream_sync(0, stream);
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    ASSERT_EQ(done, 20);
  }
  plugin_->stream_destroy(0, stream);
}

TEST_F(SimStream, a_destroyed_stream_finishes_its_work_and_a_device_sync_waits_for_it) {
  const plug_stream stream = plugin_.stream(0);
  std::atomic<int> done{0};
  Gate gate(plugin_, 0, stream);
  for (int i = 0; i < 1000; ++i) plugin_.enqueue(0, stream, [&] { ++done; });
  EXPECT_EQ(plugin_->stream_destroy(0, stream), PLUG_OK) << "while its first task is held";
  EXPECT_EQ(done, 0);
  gate.open();
  EXPECT_EQ(plugin_->device_sync(0), PLUG_OK);
  EXPECT_EQ(done, 1000);
}

TEST_F(SimStream, a_stream_has_a_thread_from_its_first_work_until_it_is_destroyed) {
  constexpr std::int32_t kDevice = 3;  // of which no other test uses the streams
  ASSERT_EQ(count_threads("sim3:"), 0);
  std::vector<plug_stream> streams;
  for (int i = 0; i < 32; ++i) streams.push_back(plugin_.stream(kDevice));
  EXPECT_EQ(plugin_->device_sync(kDevice), PLUG_OK);
  EXPECT_EQ(plugin_->stream_query(kDevice, streams[0]), PLUG_OK);
  EXPECT_EQ(count_threads("sim3:"), 0);

  for (int used = 0; used < 3; ++used) {
    // Read inside the stream, which has its name by then.
    int threads = 0;
    plugin_.enqueue(kDevice, streams[static_cast<std::size_t>(used)],
                    [&] { threads = count_threads("sim3:"); });
    ASSERT_EQ(plugin_->device_sync(kDevice), PLUG_OK);
    EXPECT_EQ(threads, used + 1);
  }
  for (const plug_stream stream : streams) {
    EXPECT_EQ(plugin_->stream_destroy(kDevice, stream), PLUG_OK);
  }
  EXPECT_TRUE(eventually([] { return count_threads("sim3:") == 0; }));
}

TEST_F(SimStream, signals_for_the_process_go_to_other_threads_and_faults_stay) {
  sigset_t blocked;
  sigemptyset(&blocked);
  plugin_.enqueue(0, nullptr, [&] { pthread_sigmask(SIG_BLOCK, nullptr, &blocked); });
  ASSERT_EQ(plugin_->stream_sync(0, nullptr), PLUG_OK);
  for (const int signal : {SIGINT, SIGTERM, SIGALRM, SIGCHLD}) {
    EXPECT_TRUE(sigismember(&blocked, signal)) << signal;
  }
  for (const int fault : {SIGSEGV, SIGBUS, SIGFPE}) EXPECT_FALSE(sigismember(&blocked, fault));
  EXPECT_EQ(pthread_sigmask(SIG_BLOCK, nullptr, &blocked), 0);
  EXPECT_FALSE(sigismember(&blocked, SIGINT)) << "the caller's own mask is as it was";
}

TEST_F(SimStream, a_high_priority_stream_ranks_before_the_others) {
  const plug_stream high = plugin_.stream(0, -1);
  const plug_stream beyond = plugin_.stream(0, -100);
  const plug_stream low = plugin_.stream(0, 100);
  const auto nice_of = [&](plug_stream stream) {
    int nice = 0;
    plugin_.enqueue(0, stream, [&] { nice = getpriority(PRIO_PROCESS, static_cast<id_t>(gettid())); });
    plugin_->stream_sync(0, stream);
    return nice;
  };
  const int high_nice = nice_of(high);
  EXPECT_EQ(nice_of(beyond), high_nice);
  EXPECT_GT(nice_of(low), high_nice);
  EXPECT_GT(nice_of(nullptr), high_nice);
  for (const plug_stream stream : {high, beyond, low}) plugin_->stream_destroy(0, stream);
}

TEST_F(SimStream, a_stream_has_a_name_of_its_own_to_other_libraries_that_leads_back_to_it) {
  const plug_stream stream = plugin_.stream(1);
  void* native = nullptr;
  ASSERT_EQ(plugin_->stream_native(1, stream, &native), PLUG_OK);
  EXPECT_NE(native, static_cast<void*>(stream)) << "a test that mixes the two up would not notice";
  plug_stream found = nullptr;
  ASSERT_EQ(plugin_->stream_import(1, native, &found), PLUG_OK);
  EXPECT_EQ(found, stream);
  EXPECT_EQ(plugin_->stream_import(0, native, &found), PLUG_INVALID) << "of another device";

  void* of_default = nullptr;
  ASSERT_EQ(plugin_->stream_native(1, nullptr, &of_default), PLUG_OK);
  EXPECT_NE(of_default, native);
  ASSERT_EQ(plugin_->stream_import(1, of_default, &found), PLUG_OK);
  EXPECT_EQ(found, nullptr);

  ASSERT_EQ(plugin_->stream_destroy(1, stream), PLUG_OK);
  EXPECT_EQ(plugin_->stream_import(1, native, &found), PLUG_INVALID) << "it is gone";
  EXPECT_NE(last_error.find("is not a stream of sim:1"), std::string::npos) << last_error;
}

TEST_F(SimStream, a_stream_of_another_device_and_the_default_stream_are_not_destroyed) {
  const plug_stream stream = plugin_.stream(0);
  EXPECT_EQ(plugin_->stream_destroy(1, stream), PLUG_INVALID);
  EXPECT_EQ(last_error, "The stream belongs to sim:0, not to sim:1.");
  EXPECT_EQ(plugin_->stream_query(1, stream), PLUG_INVALID);
  EXPECT_EQ(plugin_->stream_destroy(0, nullptr), PLUG_INVALID);
  EXPECT_EQ(plugin_->stream_destroy(0, stream), PLUG_OK);
}

}  // namespace
}  // namespace sim_test
