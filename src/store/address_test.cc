#include "store/address.h"

#include <gtest/gtest.h>

#include "store/store.h"

namespace ampere {
namespace {

TEST(Address, ServersAreToldFromFiles) {
  for (const char* server : {"postgresql://host/db", "postgres:///db", "service=lab"})
    EXPECT_TRUE(is_server(server)) << server;
  for (const char* file : {"", "profiles.db", "./service=lab", "/a/postgresql://b", "postgresql:"})
    EXPECT_FALSE(is_server(file)) << file;
}

TEST(Address, NoSecretIsPrinted) {
  const auto expect = [](const char* address, const char* printed) {
    EXPECT_EQ(printable_address(address), printed);
  };
  expect("postgresql://ann@host:5433/db?sslmode=require", "postgresql://ann@host:5433/db?sslmode=require");
  expect("postgresql://ann:geheim@host/db", "postgresql://ann@host/db");
  expect("postgresql://:geheim@host/db", "postgresql://@host/db");
  expect("postgresql://ann:ge@heim@host/db", "postgresql://ann@host/db");
  expect("postgresql://ann:ge/heim@host/db", "postgresql://ann@host/db");
  expect("postgresql://ann:ge?heim@host/db?a=b", "postgresql://ann@host/db?a=b");
  expect("postgresql://ann:ge=heim@host/db", "postgresql://ann@host/db");
  expect("postgresql://host/db?user=ann&password=geheim&a=b@c", "postgresql://host/db?user=ann&a=b@c");
  expect("postgresql://host/db?password=geheim", "postgresql://host/db");
  expect("postgresql://host/db?sslpassword=geheim&a=b", "postgresql://host/db?a=b");
  expect("service=lab password=geheim dbname=x", "service=lab dbname=x");
  expect("service=lab password='ge heim\\' x' dbname=x", "service=lab dbname=x");
  expect("service=lab password = geheim", "service=lab");
  expect("service=lab user=ann\tpassword=geheim", "service=lab user=ann");
  expect("postgresql://ann:ge?he=im@host/db", "postgresql://ann@host/db");
  expect("postgresql://host/db?p%61ssword=geheim", "postgresql://host/db");
  expect("a:b@c.db", "a:b@c.db");
}

TEST(Address, NorQuotedByOthers) {
  const std::string url = "postgresql://ann:ge%20heim@host/db";
  EXPECT_EQ(without_secrets("cannot read \"" + url + "\": ge heim, ge%20heim", url),
            "cannot read \"postgresql://ann@host/db\": ***, ***");
  EXPECT_EQ(without_secrets("no host \"heim@host\"", "postgresql://ann:ge@heim@host/db"),
            "no host \"***@host\"");
}

TEST(Address, LimitsAreAddedWhereNoneAreGiven) {
  EXPECT_NE(with_limits("postgresql://host/db").find("/db?connect_timeout=10&keepalives_idle="),
            std::string::npos);
  EXPECT_NE(with_limits("postgresql://host/db?connect_timeout=3").find("?connect_timeout=3&keepalives_idle="),
            std::string::npos);
  EXPECT_NE(with_limits("service=lab").find("service=lab connect_timeout=10 keepalives_idle="),
            std::string::npos);
}

TEST(Address, ServersAreNoFiles) {
  EXPECT_NO_THROW(require_store_path("postgresql://host/db"));
  EXPECT_TRUE(store_exists("service=lab"));
  EXPECT_FALSE(store_exists("/no/such/file"));
}

}  // namespace
}  // namespace ampere
