// Engines kept: on disk, whatever happens to the files, and in memory, whoever asks.

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <latch>
#include <thread>

#include "graph/engine_cache.h"
#include "graph/engine_store.h"
#include "graph_samples.h"

namespace torchplug::graph::tests {
namespace {

namespace fs = std::filesystem;

// A directory of the test's own, gone behind it.
class EngineStoreTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string path = (fs::temp_directory_path() / "torchplug-store-XXXXXX").string();
    ASSERT_NE(::mkdtemp(path.data()), nullptr);
    root_ = path;
    directory_ = root_ / "cache" / "engines";
  }
  void TearDown() override {
    std::error_code ignored;
    fs::remove_all(root_, ignored);
  }

  EngineStore store(uint64_t limit = EngineStore::kDefaultLimit) const {
    return EngineStore(directory_, limit);
  }

  std::vector<fs::path> files() const {
    std::vector<fs::path> found;
    for (const auto& entry : fs::directory_iterator(directory_)) found.push_back(entry.path());
    return found;
  }

  static std::string content(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  static void write(const fs::path& path, const std::string& text) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << text;
  }

  // Seconds since 1970: least recently used is a matter of order, not of waiting.
  static void use_at(const fs::path& path, time_t seconds) {
    const timespec times[2] = {{seconds, 0}, {seconds, 0}};
    ASSERT_EQ(::utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
  }

  fs::path root_;
  fs::path directory_;
};

void expect_one_line(const std::string& why, std::string_view part) {
  EXPECT_NE(why.find(part), std::string::npos) << "'" << part << "' is missing in: " << why;
  EXPECT_EQ(why.find('\n'), std::string::npos) << why;
}

// What `body` expects, in a process of its own.
void in_a_child(const std::function<void()>& body) {
  std::fflush(nullptr);
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(120);
    body();
    std::fflush(nullptr);
    ::_exit(::testing::Test::HasFailure() ? 1 : 0);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0) << "see the failures above";
}

TEST_F(EngineStoreTest, what_was_saved_is_loaded_and_nothing_else) {
  EXPECT_FALSE(store().load("key").bytes);
  EXPECT_EQ(store().load("key").why, "") << "that there is none is no fault";
  EXPECT_FALSE(fs::exists(directory_)) << "nothing is made to look for what is not there";
  const std::string bytes("a\0b", 3);
  EXPECT_EQ(store().save("key", bytes), "");
  EXPECT_EQ(store().save("empty", ""), "");
  EXPECT_EQ(store().load("key").bytes, bytes);
  EXPECT_EQ(store().load("empty").bytes, "");
  EXPECT_FALSE(store().load("other").bytes);
  EXPECT_EQ(store().save("key", "new"), "");
  EXPECT_EQ(store().load("key").bytes, "new");
  EXPECT_EQ(files().size(), 2u) << "no unfinished files are left";
  EXPECT_EQ(fs::status(directory_).permissions(), fs::perms::owner_all);
  store().remove("key");
  EXPECT_FALSE(store().load("key").bytes);
}

TEST_F(EngineStoreTest, a_damaged_file_is_as_none_and_the_reason_is_said) {
  ASSERT_EQ(store().save("key", std::string(100, 'x')), "");
  const fs::path file = files().at(0);
  const std::string whole = content(file);
  std::mt19937 random(3);
  for (int i = 0; i < 100; ++i) {
    std::string damaged = whole;
    switch (random() % 4) {
      case 0: damaged.resize(random() % damaged.size()); break;
      case 1: damaged[random() % damaged.size()] ^= static_cast<char>(1U << random() % 8); break;
      case 2: damaged += static_cast<char>(random()); break;
      default:
        for (char& c : damaged) c = static_cast<char>(random());
        break;
    }
    write(file, damaged);
    const EngineStore::Loaded loaded = store().load("key");
    EXPECT_FALSE(loaded.bytes);
    expect_one_line(loaded.why, file.string());
  }
  EXPECT_EQ(store().save("key", "anew"), "");
  EXPECT_EQ(store().load("key").bytes, "anew");
}

TEST_F(EngineStoreTest, the_engine_of_another_key_and_what_is_no_file_are_not_loaded) {
  ASSERT_EQ(store().save("one", "1"), "");
  const fs::path one = files().at(0);
  ASSERT_EQ(store().save("two", "2"), "");
  const fs::path two = files().at(0) == one ? files().at(1) : files().at(0);
  fs::copy_file(two, one, fs::copy_options::overwrite_existing);
  expect_one_line(store().load("one").why, "another key");
  fs::remove(one);
  fs::create_symlink(two, one);
  EXPECT_FALSE(store().load("one").bytes);
  EXPECT_FALSE(store().load("one").why.empty());
  fs::remove(one);
  ASSERT_EQ(::mkfifo(one.c_str(), 0600), 0);
  expect_one_line(store().load("one").why, "no file");
  fs::remove(one);
  fs::create_directory(one);
  EXPECT_FALSE(store().load("one").bytes);
  EXPECT_FALSE(store().save("one", "1").empty());
  EXPECT_EQ(store().load("two").bytes, "2");
}

TEST_F(EngineStoreTest, least_recently_used_engines_go_when_there_are_too_many_bytes) {
  const uint64_t limit = 4000;
  for (const char* key : {"a", "b", "c"}) ASSERT_EQ(store(limit).save(key, std::string(1000, *key)), "");
  std::map<char, fs::path> named;
  for (const fs::path& path : files()) named[content(path).back()] = path;
  use_at(named['a'], 1000);
  use_at(named['b'], 2000);
  use_at(named['c'], 3000);
  EXPECT_TRUE(store(limit).load("a").bytes) << "a is used now";
  ASSERT_EQ(store(limit).save("d", std::string(1000, 'd')), "");
  EXPECT_TRUE(store(limit).load("a").bytes);
  EXPECT_FALSE(store(limit).load("b").bytes);
  EXPECT_TRUE(store(limit).load("c").bytes);
  EXPECT_TRUE(store(limit).load("d").bytes);
  for (const fs::path& path : files()) use_at(path, 4000000000);  // by a clock that was wrong
  ASSERT_EQ(store(limit).save("f", std::string(1000, 'f')), "");
  EXPECT_TRUE(store(limit).load("f").bytes) << "what was saved just now stays";
  EXPECT_LE(files().size(), 3u);
  ASSERT_EQ(store(limit).save("d", std::string(1000, 'd')), "");
  expect_one_line(store(limit).save("e", std::string(4000, 'e')), "more than");
  EXPECT_TRUE(store(limit).load("d").bytes) << "one that never fits drives out none";
}

TEST_F(EngineStoreTest, files_that_a_process_left_unfinished_are_removed_in_time) {
  ASSERT_EQ(store().save("key", "1"), "");
  write(directory_ / ".unfinished-1-0", "old");
  write(directory_ / ".unfinished-2-0", "being written");
  write(directory_ / "note.txt", "the user's");
  use_at(directory_ / ".unfinished-1-0", 1000);
  use_at(directory_ / "note.txt", 1000);
  ASSERT_EQ(store(300).save("other", "2"), "");
  EXPECT_FALSE(fs::exists(directory_ / ".unfinished-1-0"));
  EXPECT_TRUE(fs::exists(directory_ / ".unfinished-2-0"));
  EXPECT_TRUE(fs::exists(directory_ / "note.txt"));
}

TEST_F(EngineStoreTest, a_directory_that_others_may_write_to_is_refused) {
  ASSERT_EQ(store().save("key", "1"), "");
  fs::permissions(directory_, fs::perms::all);
  expect_one_line(store().load("key").why, "everybody may write");
  EXPECT_FALSE(store().load("key").bytes);
  expect_one_line(store().save("key", "2"), "everybody may write");
  fs::permissions(directory_, fs::perms::owner_all);
  fs::permissions(files().at(0), fs::perms::all);
  expect_one_line(store().load("key").why, "everybody may write");
}

TEST_F(EngineStoreTest, a_directory_that_cannot_be_is_a_reason) {
  fs::create_directories(directory_.parent_path());
  write(directory_, "a file");
  EXPECT_FALSE(store().load("key").why.empty());
  expect_one_line(store().save("key", "1"), "cannot open");
  expect_one_line(EngineStore("").save("key", "1"), "no directory");
  expect_one_line(EngineStore("/proc/none/engines").save("key", "1"), "cannot open");
}

TEST_F(EngineStoreTest, what_another_user_owns_or_locks_is_not_used) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can be several users";
  ASSERT_EQ(store().save("key", "1"), "");
  fs::permissions(root_, fs::perms::all);
  for (fs::path path = directory_; path != root_; path = path.parent_path()) {
    fs::permissions(path, fs::perms(0755));
  }
  fs::permissions(files().at(0), fs::perms(0644));
  in_a_child([&] {
    ASSERT_EQ(::setuid(65534), 0);
    expect_one_line(store().load("key").why, "another user (0)");
    expect_one_line(store().save("key", "2"), "another user (0)");
    directory_ = root_ / "mine";
    EXPECT_EQ(store().save("key", "3"), "");
    fs::permissions(files().at(0), fs::perms::none);
    expect_one_line(store().load("key").why, "cannot open");
    fs::permissions(directory_, fs::perms(0500));
    expect_one_line(store().save("other", "4"), "cannot write");
    fs::permissions(directory_, fs::perms::owner_all);
  });
}

TEST_F(EngineStoreTest, a_disk_that_is_full_is_a_reason_and_leaves_nothing) {
  in_a_child([&] {
    ASSERT_EQ(store().save("small", "1"), "");
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{1 << 16, 1 << 16};  // of one file, which a write meets as it does the end of a disk
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
    expect_one_line(store().save("key", std::string(1 << 20, 'x')), "cannot write");
    EXPECT_EQ(files().size(), 1u);
    EXPECT_EQ(store().load("small").bytes, "1");
  });
}

// Each key has one content for ever, so whatever is loaded can be judged.
void use_store_at_random(const EngineStore& store, uint32_t seed) {
  std::mt19937 random(seed);
  for (int i = 0; i < 150; ++i) {
    const std::string key = "key" + std::to_string(random() % 12);
    const std::string bytes(500 + 100 * (key.back() - '0'), key.back());
    if (random() % 2 == 0) {
      EXPECT_EQ(store.save(key, bytes), "");
    } else {
      const EngineStore::Loaded loaded = store.load(key);
      EXPECT_EQ(loaded.why, "");
      EXPECT_EQ(loaded.bytes.value_or(bytes), bytes);
    }
  }
}

TEST_F(EngineStoreTest, processes_and_threads_that_save_load_and_evict_at_once_never_see_half_an_engine) {
  std::vector<pid_t> children;
  std::fflush(nullptr);
  for (uint32_t process = 0; process < 2; ++process) {
    const pid_t child = ::fork();
    if (child == 0) {
      ::alarm(120);
      std::thread other([&] { use_store_at_random(store(6000), 10 + process); });
      use_store_at_random(store(6000), 20 + process);
      other.join();
      std::fflush(nullptr);
      ::_exit(::testing::Test::HasFailure() ? 1 : 0);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = -1;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  ASSERT_EQ(store(6000).save("last", "1"), "");
  uint64_t total = 0;
  for (const fs::path& path : files()) total += fs::file_size(path);
  EXPECT_LE(total, 6000u);
}

// ---- in memory ----

struct FakeEngine {
  explicit FakeEngine(int n) : number(n) {}
  int number;
};
using Cache = EngineCache<FakeEngine>;

EngineKey key_of(int64_t number) { return EngineKey().add(number); }

TEST(EngineKey, keys_differ_by_every_part_and_order) {
  const std::vector<int64_t> a = {1, 2};
  const std::vector<int64_t> b = {1, 2, 0};
  const std::vector<EngineKey> keys = {
      EngineKey(),
      EngineKey().add(a),
      EngineKey().add(b),
      EngineKey().add(a).add(b),
      EngineKey().add(b).add(a),
      EngineKey().add("ab").add("c"),
      EngineKey().add("a").add("bc"),
      EngineKey().add(std::string_view("a\0", 2)),
      EngineKey().add("a"),
      EngineKey().add(0.0),
      EngineKey().add(-0.0),
      EngineKey().add(int64_t{0}).add(int64_t{0}),
      EngineKey().add(digest_of("x")),
      EngineKey().add(digest_of("y")),
  };
  for (size_t i = 0; i < keys.size(); ++i) {
    for (size_t j = 0; j < keys.size(); ++j) {
      EXPECT_EQ(keys[i] == keys[j], i == j) << i << " and " << j;
      EXPECT_EQ(keys[i].bytes() == keys[j].bytes(), i == j);
    }
  }
  EngineKey again;
  again.add(a).clear().add(b);
  EXPECT_EQ(again, keys[2]);
  EXPECT_EQ(again.hash(), keys[2].hash());
}

TEST(EngineCache, the_least_recently_used_go_beyond_eight) {
  Cache cache;
  int made = 0;
  const auto get = [&](int64_t key) {
    return cache.get(key_of(key), [&] { return std::make_shared<FakeEngine>(++made); });
  };
  for (int64_t key = 0; key < 8; ++key) get(key);
  EXPECT_EQ(get(0)->number, 1) << "used again";
  get(8);
  EXPECT_EQ(cache.size(), 8u);
  EXPECT_EQ(made, 9);
  EXPECT_TRUE(cache.find(key_of(0)));
  EXPECT_FALSE(cache.find(key_of(1)));
  get(1);
  EXPECT_EQ(made, 10);
  cache.clear();
  EXPECT_EQ(cache.size(), 0u);
  EXPECT_FALSE(cache.find(key_of(1)));
}

TEST(EngineCache, an_engine_that_went_lives_as_long_as_somebody_runs_it) {
  Cache cache(1);
  std::shared_ptr<FakeEngine> held = cache.get(key_of(1), [] { return std::make_shared<FakeEngine>(1); });
  const std::weak_ptr<FakeEngine> watched = held;
  cache.get(key_of(2), [] { return std::make_shared<FakeEngine>(2); });
  EXPECT_FALSE(watched.expired());
  held.reset();
  EXPECT_TRUE(watched.expired());
}

TEST(EngineCache, what_was_declined_is_not_asked_again_and_drives_out_no_engine) {
  Cache cache(2);
  int asked = 0;
  cache.get(key_of(-1), [] { return std::make_shared<FakeEngine>(1); });
  for (int64_t key = 0; key < 2000; ++key) cache.get(key_of(key), [&] { return ++asked, nullptr; });
  EXPECT_EQ(cache.size(), 1u);
  EXPECT_EQ(cache.get(key_of(1999), [&] { return ++asked, nullptr; }), nullptr);
  EXPECT_EQ(asked, 2000);
  EXPECT_EQ(cache.find(key_of(1999)), std::optional<std::shared_ptr<FakeEngine>>(nullptr));
  EXPECT_TRUE(cache.find(key_of(-1)).value());
}

TEST(EngineCache, threads_that_ask_at_once_have_one_engine_made_and_all_get_it) {
  Cache cache;
  std::atomic<int> made = 0;
  std::latch start(8);
  std::vector<std::thread> threads;
  std::vector<std::shared_ptr<FakeEngine>> got(8);
  for (size_t i = 0; i < got.size(); ++i) {
    threads.emplace_back([&, i] {
      start.arrive_and_wait();
      got[i] = cache.get(key_of(1), [&] {
        ++made;
        std::this_thread::yield();
        return std::make_shared<FakeEngine>(1);
      });
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(made, 1);
  for (const auto& engine : got) EXPECT_EQ(engine, got[0]);
}

TEST(EngineCache, an_error_may_be_remembered_as_declined) {
  Cache cache;
  Cache::Answer first = cache.get_or_start(key_of(1));
  ASSERT_TRUE(first.ticket);
  first.ticket->decline(std::make_exception_ptr(std::domain_error("no")));
  EXPECT_THROW(first.made.get(), std::domain_error);
  EXPECT_EQ(cache.find(key_of(1)), std::optional<std::shared_ptr<FakeEngine>>(nullptr));
}

TEST(EngineCache, an_error_reaches_all_who_wait_and_the_next_to_ask_tries_again) {
  Cache cache;
  Cache::Answer first = cache.get_or_start(key_of(1));
  ASSERT_TRUE(first.ticket);
  const Cache::Answer second = cache.get_or_start(key_of(1));
  std::thread waiting([made = second.made] { EXPECT_THROW(made.get(), std::domain_error); });
  first.ticket->fail(std::make_exception_ptr(std::domain_error("no")));
  waiting.join();
  EXPECT_THROW(
      cache.get(key_of(1), []() -> std::shared_ptr<FakeEngine> { throw std::domain_error("again"); }),
      std::domain_error);
  EXPECT_EQ(cache.get(key_of(1), [] { return std::make_shared<FakeEngine>(5); })->number, 5);
}

TEST(EngineCache, in_the_background_the_first_to_ask_makes_it_and_the_others_get_nothing_yet) {
  Cache cache;
  Cache::Answer first = cache.get_or_start(key_of(1));
  ASSERT_TRUE(first.ticket);
  EXPECT_FALSE(first.engine);
  Cache::Answer second = cache.get_or_start(key_of(1));
  EXPECT_FALSE(second.ticket);
  EXPECT_FALSE(second.engine);
  EXPECT_FALSE(cache.find(key_of(1)));
  EXPECT_EQ(first.ticket->key(), key_of(1));
  std::thread background(
      [ticket = std::move(*first.ticket)]() mutable { ticket.finish(std::make_shared<FakeEngine>(7)); });
  EXPECT_EQ(second.made.get()->number, 7) << "who wants may wait";
  background.join();
  EXPECT_EQ(cache.get_or_start(key_of(1)).engine.value()->number, 7);
}

TEST(EngineCache, a_ticket_that_goes_unused_lets_the_next_one_try) {
  Cache cache;
  std::optional<Cache::Answer> first(cache.get_or_start(key_of(1)));
  const Cache::Answer second = cache.get_or_start(key_of(1));
  first.reset();
  EXPECT_THROW(second.made.get(), std::runtime_error);
  EXPECT_TRUE(cache.get_or_start(key_of(1)).ticket);
}

TEST(EngineCache, a_ticket_may_outlive_its_cache) {
  std::optional<Cache> cache(std::in_place);
  Cache::Answer answer = cache->get_or_start(key_of(1));
  cache.reset();
  answer.ticket->finish(std::make_shared<FakeEngine>(1));
  EXPECT_EQ(answer.made.get()->number, 1);
}

TEST(EngineCache, engines_are_destroyed_under_no_lock) {
  struct Asking {
    EngineCache<Asking>* cache;
    ~Asking() { cache->size(); }  // would never return
  };
  EngineCache<Asking> cache(1);
  for (int64_t key = 0; key < 3; ++key) {
    cache.get(key_of(key), [&] { return std::make_shared<Asking>(Asking{&cache}); });
  }
  cache.clear();
  EXPECT_EQ(cache.size(), 0u);
}

}  // namespace
}  // namespace torchplug::graph::tests
