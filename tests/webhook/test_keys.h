// Key pairs made for the tests, a certificate, and a signature of an SNS notification made with openssl (SHA-1).
#pragma once

#include <string_view>

namespace semel::test {

inline constexpr std::string_view rsa_private_key =
    "-----BEGIN PRIVATE KEY-----\n"
    "MIIEvgIBADANBgkqhkiG9w0BAQEFAASCBKgwggSkAgEAAoIBAQCuxDCAiv6Wwpnz\n"
    "RjirgPF5K1lCJOSrcojKiDdgXAII6w1i15u/OUYhtZTBngChU9T51moYzDwSHSnV\n"
    "/DgNcTUwJYv9mUxENLqdabUQEpYToP8l8iucqucBfHlTTxJjB1en2NtDiniselBX\n"
    "fOl2Fn8nWyMb3S7ULACQjwut4K1IOSEAkr5b5e1/z5CqEwX7Dn0ArkS6auqEvMJC\n"
    "fM33WklC78fkNROP1aWkZ3NMadZnXVCuBq8b78S80KiepFPSqvbwEE0PeB5VOiDe\n"
    "yzzSw2GPMKgdnNqIVewJz//9cQDTs8hKcms/ZFgrJ4ZdTaYWryd0acMdTsfqjVj/\n"
    "CG3GoI+NAgMBAAECggEADMzRwJhtjR0zqV27SNRo2zcRkoahOO1ql2rio2wZug19\n"
    "LYAdKCRJvq5N9uBbq3U4ZBQQMUDEJY99QO74LAPeoWgemLRhoZ07DcxwNn0mAMoJ\n"
    "5f2WtCLQSIuVV0SzVA11nhWD+a5qqDdNKxs6/isnpPpH2AKbK28Nm4jekh2ik2d8\n"
    "ch+sDsTCSFBT64C64yTZMM+DpGM11TTAatJCCnJD4F5tlU/qu6pEQ27EuxxFT+ts\n"
    "21vFeienLpb9UEiMjvH4YxCjs/wgn1+W17Q+mgLZfhwPpX2qV8DMGVEQ2LJDHSdS\n"
    "iECGblugKki9BlesZ+nGsXsakXPySGZjFUOwlIVFAQKBgQD04dPDmTw7A7AXV5ND\n"
    "PnE4/XUiHhun2Hb+tlqAtWFK7R+PVsYmihS2bY6vNBfVCBAvNTBg7F6wP7Q3gl/S\n"
    "Z+7M7C2WmLsAG/VprulAoXlaL0a4z2pEmnd0P8rAtu2+MLoPO0+jhAevRR95xNI5\n"
    "Wru5my8EtuDrXqFd9qv85YYUSwKBgQC2s27c+hYDtSg1RyhhQAqwFYhB+c+RlYV2\n"
    "xSomLh3GumJACHJWN9VrEf3glNqEIqzgQcN8zZYg9Kzfp+bOq6q01wfmAPzfUSaE\n"
    "c47gICUmCyM6UOal2oBlVGlmAhSM6GRoA+EkzgaNRtYqguXx4FCEScYMPLHtzt9r\n"
    "55K+GEIUhwKBgQDYUPRjgGU4LFXNCMtJR0t08FAcR0RezFSxRBxGPfMn4LdUQ27e\n"
    "dHM/gx/bnMTAplLFoNKPi71JK7zinARRNQY5dxf+RARMYGY1aREayokMJV7vuilB\n"
    "WMHUqtVLz0vMCfcRpW8AHo07QnA/fKHHkGLr3i12mKWuxPT+r/vVdlsuaQKBgBql\n"
    "61qx43og9z9mJJ6ir6xlR52P6VWrwG7FbVNqUI+G6gO696pZtHhMhII4U/MH970x\n"
    "+mh+uBIQfhKVM9YbNefwoUdMB5YvCPYywLkyFxkIcNf1qt6wEyA0grcNQKAY2WRO\n"
    "hI1Qu6Xpmh1TQGTaOgRBmnB4fd9Y2D+t5Dpz4VeLAoGBAKk6mK+i3YMD46INK0/B\n"
    "eXvvEvwjvIGxSQPr1Rx3xxQpTI8kY1c7vz8S3url8x485LL4VmgFWKIslTxAXYJc\n"
    "w/nPTQSw+bvaAK0+SDGcIIa2SVhyJM9ecuoMw4P1WFi1/YK54/j7s/K3GI9nYILE\n"
    "EDNkGqminyNGbPgVZfPKp8Ic\n"
    "-----END PRIVATE KEY-----\n";

// From November 2026 to October 2126.
inline constexpr std::string_view rsa_certificate =
    "-----BEGIN CERTIFICATE-----\n"
    "MIIDATCCAemgAwIBAgIUIZZPLNXZuaTY1FGmQ+32Qa2LfPwwDQYJKoZIhvcNAQEL\n"
    "BQAwDzENMAsGA1UEAwwEdGVzdDAgFw0yNjExMTUxMjAyNDlaGA8yMTI2MTAyMjEy\n"
    "MDI0OVowDzENMAsGA1UEAwwEdGVzdDCCASIwDQYJKoZIhvcNAQEBBQADggEPADCC\n"
    "AQoCggEBAK7EMICK/pbCmfNGOKuA8XkrWUIk5KtyiMqIN2BcAgjrDWLXm785RiG1\n"
    "lMGeAKFT1PnWahjMPBIdKdX8OA1xNTAli/2ZTEQ0up1ptRASlhOg/yXyK5yq5wF8\n"
    "eVNPEmMHV6fY20OKeKx6UFd86XYWfydbIxvdLtQsAJCPC63grUg5IQCSvlvl7X/P\n"
    "kKoTBfsOfQCuRLpq6oS8wkJ8zfdaSULvx+Q1E4/VpaRnc0xp1mddUK4GrxvvxLzQ\n"
    "qJ6kU9Kq9vAQTQ94HlU6IN7LPNLDYY8wqB2c2ohV7AnP//1xANOzyEpyaz9kWCsn\n"
    "hl1NphavJ3Rpwx1Ox+qNWP8Ibcagj40CAwEAAaNTMFEwHQYDVR0OBBYEFBBMtN6d\n"
    "yG6AlZIHr0kv4Fl/oEN1MB8GA1UdIwQYMBaAFBBMtN6dyG6AlZIHr0kv4Fl/oEN1\n"
    "MA8GA1UdEwEB/wQFMAMBAf8wDQYJKoZIhvcNAQELBQADggEBAHuAeyvH+yR8Ef0D\n"
    "rX3J8pPU73NscKiAcYpIsr0sbLG400TyYo0yq9O9J5Nk1ueFHb06pRrcHTBZX9Gk\n"
    "ILU7bfH8lN0NVbM32svIBMyVL3Ht3VmgfcYcFKDOHBHMRJtgyhUlYtliI+6TR/jq\n"
    "4ddAgpo/wHzPu5zAo4mKlMymOtn7ek7MgwWGAhlPyN3IvOHrfNSkEuJhDyEcnwYK\n"
    "xevPjBDE+39TEiIkffBse6aeK7mVrRO6bN/3pAH6oNm46bB0mb+8GaDLbNfrmUED\n"
    "ApkA1/ixd6ahu8QzAIPTn51XLF+/3nCdyrzGCUKo/xGTsd7U9l3Kx5ekiUkhH0SA\n"
    "pob+Hkk=\n"
    "-----END CERTIFICATE-----\n";

inline constexpr std::string_view rsa_modulus =
    "rsQwgIr-lsKZ80Y4q4DxeStZQiTkq3KIyog3YFwCCOsNYtebvzlGIbWUwZ4AoVPU-dZqGMw8Eh0p1fw4DXE1MCWL_ZlMRDS6nWm1"
    "EBKWE6D_JfIrnKrnAXx5U08SYwdXp9jbQ4p4rHpQV3zpdhZ_J1sjG90u1CwAkI8LreCtSDkhAJK-W-Xtf8-QqhMF-w59AK5Eumrq"
    "hLzCQnzN91pJQu_H5DUTj9WlpGdzTGnWZ11QrgavG-_EvNConqRT0qr28BBND3geVTog3ss80sNhjzCoHZzaiFXsCc___XEA07PI"
    "SnJrP2RYKyeGXU2mFq8ndGnDHU7H6o1Y_whtxqCPjQ";

inline constexpr std::string_view sns_sha1_signature =
    "b2Uyr1ec0MU4q+06V6703cjkTmaI5d0q9TMIDticePiMLWtZH5Uaq66p3X5I84CBdF0kilmflRk05CQGz1JLBWyibhmSabiNw2di"
    "K8cwrVh1S8HQaiznYZCQFpRO2wMU5kWYdIMgGFy/MJ6H0K79x/dhAZTk7akVguQomuwV29A1Q2KsGpL7SkC2UOYpDGquyIDHPZWW"
    "keIvbwPY5OPpsQzt8dyWsiREbKxUyfIEMELMVlv6Rk/ISEfnHhgUDY/mE4PEW04DDrqeRCMtV7ZunEr3nZJV94vJyrWPoPfCAJy4"
    "x7sTdoFTL0UnQweKvuVhDntdZTvtyM69eLyNGD2cBw==";

// On P-256: the private key, and the public one as SendGrid shows it.
inline constexpr std::string_view p256_key =
    "-----BEGIN PRIVATE KEY-----\n"
    "MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgNd8uyX4N+GMOkoQ8\n"
    "ulNmu53fRDnezKccwyqbMX16Sp2hRANCAARJp479gFoKybAUmHQtDoCrnHTVkCw7\n"
    "za63J/HFfgRCSfumuh6SOx7awIjp4N+Fpj16wJypXTXyp3OsaHPBP1Ak\n"
    "-----END PRIVATE KEY-----\n";
inline constexpr std::string_view p256_public_key =
    "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAESaeO/YBaCsmwFJh0LQ6Aq5x01ZAsO82utyfxxX4EQkn7proekjse2sCI6eDfhaY9"
    "esCcqV018qdzrGhzwT9QJA==";

// The key pair of the recorded delivery of Discord.
inline constexpr std::string_view ed25519_key =
    "-----BEGIN PRIVATE KEY-----\n"
    "MC4CAQAwBQYDK2VwBCIEIN4/P+rC7MSPxNEh+ZrbPgw3OEM2ZpQqW1gYp1ML0nSu\n"
    "-----END PRIVATE KEY-----\n";
inline constexpr std::string_view ed25519_public_key =
    "a99b7eb4b3b326a6e3bb275d57bde912c27c1e617b368380e7a96a109d8117aa";

}  // namespace semel::test
