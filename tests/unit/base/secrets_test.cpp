// Tells which names are of secrets, what is masked, and what is left alone.
#include "base/secrets.hpp"

#include "base/text.hpp"

#include <gtest/gtest.h>

namespace muster {
namespace {

TEST(IsSecretName, KnowsTokensPasswordsAndKeys) {
  for (const std::string name : {"MUSTER_TOKEN",
                                 "HF_TOKEN",
                                 "MARSV2_USER_TOKEN",
                                 "AWS_SECRET_ACCESS_KEY",
                                 "DB_PASSWORD",
                                 "MYSQL_PASSWD",
                                 "GOOGLE_APPLICATION_CREDENTIALS",
                                 "TOKEN_PASSWORD_TYPE",
                                 "ACCESS_TOKEN_URL",
                                 "WANDB_API_KEY",
                                 "AWS_ACCESS_KEY_ID",
                                 "PRIVATE_KEY",
                                 "AUTHORIZATION",
                                 "hf_token",
                                 "Api_Key",
                                 "WANDB_KEY",
                                 "S3_ACCESS",
                                 "SCC_PASS",
                                 "CRED_USER",
                                 "TOKEN"}) {
    EXPECT_TRUE(is_secret_name(name)) << name;
  }
}

TEST(Masked, HidesSecretsAndPasswordsInAddresses) {
  EXPECT_EQ(masked("WANDB_API_KEY", "x"), "***");
  EXPECT_EQ(masked("HOSTS", "redis://:pw@a:1,redis://me:pw@b:1"), "redis://***@a:1,redis://***@b:1");
  EXPECT_EQ(masked("HOSTS", "https://a/b@c, tcp://b"), "https://a/b@c, tcp://b");
  EXPECT_EQ(masked("HOSTS", "me:pw@a:29500"), "***@a:29500");
  EXPECT_EQ(masked("HOSTS", "me@a:8,you@b:8,@"), "me@a:8,you@b:8,@");
}

TEST(MaskedLine, HidesTheSecretsOfACommandLine) {
  const std::vector<std::pair<std::string, std::string>> lines{
      {R"(see password: a b, {"api_key": "c"})", R"(see password: *** b, {"api_key": ***)"},
      {"x --api-token a --lr 1 TOKEN=b wandb.api_key=c http://me:pw@h",
       "x --api-token *** --lr 1 TOKEN=*** wandb.api_key=*** http://***@h"},
      {R"(--password "a b c" --lr 1)", "--password *** --lr 1"},
      {R"(password="a b c" --lr 1)", "password=*** --lr 1"},
      {"token: 'x y', lr: 1", "token: *** lr: 1"},
      {"token:'x y', lr: 1", "token:*** lr: 1"},
      {R"({"lr":1,"api_key":"c d","x":"a"} e)", R"({"lr":1,"api_key":*** e)"},
      {R"(--set=password='a '\''b c' d)", "--set=password=*** d"},
      {R"(--password "a \" b" c)", "--password *** c"},
      {R"(--password "a b c)", "--password ***"},
      {R"(run "x --token a --password 'b c' --lr 1")", R"(run "x --token *** --password *** --lr 1")"},
      {"--token -x --lr 1", "--token *** --lr 1"},
      {"--token --lr 1", "--token --lr 1"},
      {"password:   a b", "password:   *** b"},
      {R"(curl -H "Authorization: Bearer a" b)", R"(curl -H "Authorization: *** *** b)"},
      {R"(asked by "password: " and 'x y')", R"(asked by "password: *** and 'x y')"},
  };
  for (const auto& [line, shown] : lines) {
    EXPECT_EQ(masked_line(line, 200), shown);
  }
}

TEST(MaskedLine, LeavesWhatIsNoSecret) {
  for (const std::string line : {
           "--tokenizer gpt2 --lr 1",
           "token_count: 5",
           "--no-token --lr 1",
           "--no-token train.py",
           "--max-tokens 4096 -v",
           "tokens per second: 1234",
           R"("pad_token": "<pad> x", "eos_token": "</s>")",
           R"({"lr":3,"eos_token":"</s> x"})",
           "--moe-token-dispatcher-type alltoall -v",
           "--token-file /run/secrets/a --placeholder_token=<image> -v",
           "--primary_key id AWS_WEB_IDENTITY_TOKEN_FILE=/run/b",
           "the token 'a b' was read",
           R"(image_key = "jpg png")",
           R"(image_key: "jpg png")",
           R"(--checkpoint-key "model state" -v)",
           R"(step 5: loss 2.3 'a b' "c d")",
           R"(keyboard="us intl")",
           "GPU 4: DBE 'row 3 of bank 2'",
           R"(--tokenizer-model "my model" -m x)",
           R"("tokenizer": "gpt 2")",
           "--monkey 'a b'",
           "don't, can't, won't: it's 'so'",
           "num_tokens: '5 6'",
           "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB",
           "--vocab-size=50257 --seq-length 2048 -p 8080",
       }) {
    EXPECT_EQ(masked_line(line, 200), line);
  }
}

TEST(MaskedLine, TakesTimeByTheLengthOfTheLine) {
  std::string line;
  for (int i = 0; i < 200'000; ++i) {
    line += R"(x:"b":")";
  }
  for (int i = 0; i < 200'000; ++i) {
    line += R"( "token":"a")";
  }
  EXPECT_EQ(masked_line(line, 20).size(), 20U);
}

TEST(MaskedWords, KnowTheirOwnEnds) {
  EXPECT_EQ(masked_words({"--password", "\"a", "b", "--token=c d", "--token", "-x", "--no-token", "y"}),
            (std::vector<std::string>{"--password", "***", "b", "--token=***", "--token", "***", "--no-token", "y"}));
}

TEST(MaskedWords, LookIntoScriptsHeadersUrlsAndJson) {
  const auto shown = [](const std::string& word) { return masked_words({"run", word}).back(); };
  EXPECT_EQ(shown("https://user:pw99@host/x?token=t"), "https://***@host/x?token=***");
  EXPECT_EQ(shown("https://host/x?a=1&token=qqq&b=2"), "https://host/x?a=1&token=***&b=2");
  EXPECT_EQ(shown("postgres://u:p%40@h/db"), "postgres://***@h/db");
  EXPECT_EQ(shown("Server=x;Password=y;Port=1"), "Server=x;Password=***;Port=1");
  EXPECT_EQ(shown("export A=1; TOKEN=abc PASSWORD=xyz true"), "export A=1; TOKEN=*** PASSWORD=*** true");
  EXPECT_EQ(shown("Authorization: Bearer abcdef"), "Authorization: *** ***");
  EXPECT_EQ(shown("X-Api-Key: abc"), "X-Api-Key: ***");
  EXPECT_EQ(shown("Cookie: id=abc; session=def"), "Cookie: *** ***");
  EXPECT_EQ(shown("https://b.host/x?X-Amz-Credential=AK&X-Amz-Signature=S&v=1"),
            "https://b.host/x?X-Amz-Credential=***&X-Amz-Signature=***&v=1");
  EXPECT_EQ(shown("bash -c 'python token-classification/run.py --lr=1 --bs=2'"),
            "bash -c 'python token-classification/run.py --lr=1 --bs=2'");
  EXPECT_EQ(shown(R"({"password": "abc", "lr": 1})"), R"({"password": *** "lr": 1})");
  EXPECT_EQ(masked_words({"--passphrase", "x", "--apikey", "y"}),
            (std::vector<std::string>{"--passphrase", "***", "--apikey", "***"}));
}

TEST(MaskedWords, TakeTimeByTheirLength) {
  std::string pairs;
  std::string addresses;
  for (int i = 0; i < 20'000; ++i) {
    pairs += "k=v,";
    addresses += "a@";
  }
  EXPECT_EQ(masked_words({pairs, addresses}), (std::vector<std::string>{pairs, addresses}));
}

TEST(MaskedWords, KnowCookiesAndHeadersWithoutABlank) {
  using Words = std::vector<std::string>;
  EXPECT_EQ(masked_words({"get", "--cookie", "id=a; session=b", "-v"}), (Words{"get", "--cookie", "***", "-v"}));
  EXPECT_EQ(masked_words({"get", "--cookie=id=a", "-v"}), (Words{"get", "--cookie=***", "-v"}));
  EXPECT_EQ(masked_words({"get", "-HAuthorization:Bearer a", "-HX-Api-Key:b"}),
            (Words{"get", "-HAuthorization:***", "-HX-Api-Key:***"}));
  EXPECT_EQ(masked_words({"get", "-HAuthorization:Bearer", "a", "b"}),
            (Words{"get", "-HAuthorization:***", "***", "b"}));
  EXPECT_EQ(masked_words({"get", "--token", "-HX-Api-Key:b"}).back(), "***") << "whatever it looks like";
  for (const Words& words : {Words{"train.py", "-b", "32", "--exclude", "curl"}, Words{"curl", "-HAccept:text/html"},
                             Words{"horovodrun", "-H", "x-key:8,x-b:8"}, Words{"uvicorn", "authorization:app"},
                             Words{"run", "-Hhost:8"}, Words{"train.py", "--cookies-from", "browser"}}) {
    EXPECT_EQ(masked_words(words), words);
  }
}

TEST(MaskedWords, LeaveOrdinaryArgumentsAlone) {
  const std::vector<std::string> words = {"python3",
                                          "train.py",
                                          "--lr=1e-3",
                                          "optimizer.betas=[0.9,0.95]",
                                          "--tokenizer",
                                          "gpt2",
                                          "--max_tokens=4096",
                                          "--data",
                                          "s3://bucket/a?versionId=1&partNumber=2",
                                          "--master-addr=node1:29500",
                                          "--prompt",
                                          "say 'hello world' twice",
                                          "for i in 1 2; do echo $i; done",
                                          R"({"pad_token": "<pad>", "lr": 1})",
                                          "--filter=a==b&&c!=d",
                                          "user@host",
                                          "img:tag@sha256:abcdef",
                                          "a=b=c",
                                          "",
                                          "  two  blanks ",
                                          "--no-token",
                                          "--",
                                          "-x"};
  EXPECT_EQ(masked_words(words), words);
}

TEST(IsSecretName, LeavesWhatATrainingNamesAlike) {
  for (const std::string name :
       {"RANK", "MASTER_ADDR", "TOKENIZERS_PARALLELISM", "TOKENIZER", "MAX_TOKENS", "MOE_TOKEN_DISPATCHER_TYPE",
        "moe_token_drop_policy", "pad_token", "eos_token_id", "KEY_DIM", "MONKEY", "KEY", "tokenizer_type",
        "checkpoint_key", "positive_key", "negative_key", "model_key", ""}) {
    EXPECT_FALSE(is_secret_name(name)) << name;
  }
}

}  // namespace
}  // namespace muster
