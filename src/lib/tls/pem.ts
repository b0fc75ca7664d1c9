import { createPrivateKey, X509Certificate } from 'node:crypto'

const BEGIN = '-----BEGIN CERTIFICATE-----'
const BLOCK = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g

/** The certificates of a PEM text, as they are written. */
export function certificateBlocks(text: string): readonly string[] {
  return text.match(BLOCK) ?? []
}

/** What keeps a text from being certificates in PEM, all of them whole; undefined: nothing. */
export function certificateFault(text: string): string | undefined {
  const begun = text.split(BEGIN).length - 1
  if (begun === 0) return 'holds no certificate in PEM'
  const blocks = certificateBlocks(text)
  const whole = blocks.filter(isReadable).length
  return whole === begun ? undefined : 'holds a certificate that is damaged'
}

/** What keeps a text from being a private key in PEM that can be used; undefined: nothing. */
export function keyFault(text: string): string | undefined {
  if (!text.includes('PRIVATE KEY-----')) return 'holds no private key in PEM'
  try {
    createPrivateKey(text)
    return undefined
  } catch {
    return text.includes('ENCRYPTED')
      ? 'holds a private key with a passphrase, which is not supported'
      : 'holds a private key that is damaged'
  }
}

function isReadable(block: string): boolean {
  try {
    return new X509Certificate(block).raw.length > 0
  } catch {
    return false
  }
}

/** Whether a key belongs to a certificate. Both in PEM; false also where one of them cannot be read. */
export function belongTogether(cert: string, key: string): boolean {
  try {
    return new X509Certificate(cert).checkPrivateKey(createPrivateKey(key))
  } catch {
    return false
  }
}
