#include "base/plain_text.h"

#include <gtest/gtest.h>

namespace ampere {
namespace {

TEST(PlainText, ShowsWhatATerminalWouldObey) {
  EXPECT_EQ(plain_text("conv1 \u00fc \u5c64 \U0001f600"), "conv1 \u00fc \u5c64 \U0001f600");
  EXPECT_EQ(plain_text("one\n\ttwo"), "one\n\ttwo");
  EXPECT_EQ(plain_line("one\n\ttwo"), "one\\n\\ttwo");
  EXPECT_EQ(plain_text("\x1b[2Jgone\x07\r\x7f"), "\\x1b[2Jgone\\x07\\x0d\\x7f");
  EXPECT_EQ(plain_text(std::string("a\0b", 3)), "a\\x00b");
  EXPECT_EQ(plain_text("\xc2\x9b"
                       "31m"),
            "\\x9b31m");  // CSI as one character, in UTF-8
  EXPECT_EQ(plain_text("\x9b"
                       "31m"),
            "\\x9b31m");  // and as a byte
  EXPECT_EQ(plain_text("a\u202eb\u2066"), "a\\u202eb\\u2066");
  EXPECT_EQ(plain_text("\xff\xc3"), "\\xff\\xc3");
}

TEST(PlainText, KnowsUtf8) {
  for (const char* good : {"", "a", "\u00fc", "\u5c64", "\U0001f600", "\xf4\x8f\xbf\xbf"})
    EXPECT_TRUE(is_utf8(good));
  for (const char* bad :
       {"\x80", "\xc0\x80", "\xc3", "\xe0\x80\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xff"})
    EXPECT_FALSE(is_utf8(bad));
  EXPECT_EQ(as_utf8("a\xff\xc3\u00fc\x1b"), "a\ufffd\ufffd\u00fc\x1b");
}

TEST(PlainText, JsonStaysJson) {
  EXPECT_EQ(plain_json("{\"a\": \"\xc2\x9b\x7f\u202e\u00fc\"}\n"),
            "{\"a\": \"\\u009b\\u007f\\u202e\u00fc\"}\n");
}

TEST(PlainText, XmlHasNoControls) {
  EXPECT_EQ(xml_characters("a\x1b"
                           "b\n\u00fc"),
            "a\ufffd"
            "b\n\u00fc");
  EXPECT_EQ(xml_characters(std::string(1, '\0')), "\ufffd");
  EXPECT_EQ(xml_characters("\xef\xbf\xbe\xef\xbf\xbf\xc2\x85\xff"), "\ufffd\ufffd\ufffd\ufffd");
}

}  // namespace
}  // namespace ampere
