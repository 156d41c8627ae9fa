#pragma once

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <unistd.h>

namespace spillway::net::testing {

/// Certificates made for one test, in a folder that goes with it.
class Certificates {
 public:
  Certificates() {
    std::string name = (std::filesystem::temp_directory_path() / "tls_XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
    ca_ = make("ca", "", 0, 86'400, nullptr);
  }

  ~Certificates() { std::filesystem::remove_all(folder_); }

  Certificates(const Certificates&) = delete;
  Certificates& operator=(const Certificates&) = delete;

  [[nodiscard]] std::string pem(std::string_view name) const {
    return folder_ + "/" + std::string(name) + ".pem";
  }

  [[nodiscard]] std::string key(std::string_view name) const {
    return folder_ + "/" + std::string(name) + ".key";
  }

  /// Signed by the CA "ca"; `names` as in "DNS:a.example,IP:127.0.0.1".
  void issue(const std::string& name, const std::string& names, long from_s = -3600,
             long to_s = 86'400) {
    make(name, names, from_s, to_s, &ca_);
  }

  void self_sign(const std::string& name, const std::string& names) {
    make(name, names, -3600, 86'400, nullptr);
  }

 private:
  struct Pair {
    std::shared_ptr<X509> certificate;
    std::shared_ptr<EVP_PKEY> key;
  };

  static void extend(X509* certificate, int nid, const std::string& value) {
    X509_EXTENSION* const extension = X509V3_EXT_conf_nid(nullptr, nullptr, nid, value.c_str());
    X509_add_ext(certificate, extension, -1);
    X509_EXTENSION_free(extension);
  }

  Pair make(const std::string& name, const std::string& names, long from_s, long to_s,
            const Pair* issuer) {
    Pair made{.certificate = {X509_new(), X509_free},
              .key = {EVP_EC_gen("prime256v1"), EVP_PKEY_free}};
    X509* const x = made.certificate.get();
    X509_set_version(x, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(x), ++serial_);
    X509_gmtime_adj(X509_getm_notBefore(x), from_s);
    X509_gmtime_adj(X509_getm_notAfter(x), to_s);
    X509_set_pubkey(x, made.key.get());
    X509_NAME_add_entry_by_txt(X509_get_subject_name(x), "CN", MBSTRING_ASC,
                               reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1, 0);
    const Pair& by = issuer != nullptr ? *issuer : made;
    X509_set_issuer_name(x, X509_get_subject_name(by.certificate.get()));
    if (issuer == nullptr) {
      extend(x, NID_basic_constraints, "critical,CA:TRUE");
    }
    if (!names.empty()) {
      extend(x, NID_subject_alt_name, names);
    }
    X509_sign(x, by.key.get(), EVP_sha256());
    FILE* file = std::fopen(pem(name).c_str(), "w");
    PEM_write_X509(file, x);
    std::fclose(file);
    file = std::fopen(key(name).c_str(), "w");
    PEM_write_PrivateKey(file, made.key.get(), nullptr, nullptr, 0, nullptr, nullptr);
    std::fclose(file);
    return made;
  }

  std::string folder_;
  long serial_ = 0;
  Pair ca_;
};

}  // namespace spillway::net::testing
