/** Remedies of failed TLS handshakes, by the messages of Node and OpenSSL. */
const REMEDIES: readonly (readonly [RegExp, string])[] = [
  [
    /alert (bad certificate|certificate|unknown ca|unsupported certificate)/i,
    'etcd misses a client certificate or refuses it: name one with --etcd-certfile and --etcd-keyfile that is for clients, has not expired, and is of the authority that etcd trusts (its --trusted-ca-file)',
  ],
  [
    /unable to (verify|get)|self-signed|signature failure/i,
    "etcd's certificate is of an authority that is not trusted here: name that authority with --etcd-cafile",
  ],
  [/has expired|not yet valid/i, "renew etcd's certificate, and check the clocks of both machines"],
  [
    /certificate's altnames/i,
    "write the endpoint in --etcd-servers by a name or an address that etcd's certificate has, or give etcd one that has it",
  ],
  [
    /wrong version number|packet length too long/i,
    'etcd speaks no TLS there: write http:// in --etcd-servers, or give etcd a certificate (its --cert-file)',
  ],
]

/** The remedy if TLS failed, which does not pass by itself; undefined for other errors. */
export function remedyOfTls(words: string): string | undefined {
  return REMEDIES.find(([sign]) => sign.test(words))?.[1]
}
