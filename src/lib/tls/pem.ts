import { createPrivateKey, X509Certificate } from 'node:crypto'

const BEGIN = '-----BEGIN CERTIFICATE-----'
const BLOCK = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g

/** The certificates of a PEM text, unchanged. */
export function certificateBlocks(text: string): readonly string[] {
  return text.match(BLOCK) ?? []
}

/** Why a text is not a sequence of complete certificates in PEM; undefined if it is. */
export function certificateFault(text: string): string | undefined {
  const begun = text.split(BEGIN).length - 1
  if (begun === 0) return 'holds no certificate in PEM'
  const blocks = certificateBlocks(text)
  const whole = blocks.filter(isReadable).length
  return whole === begun ? undefined : 'holds a certificate that is damaged'
}

/** Why a text is not a usable private key in PEM; undefined if it is. */
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

/** Whether a key belongs to a certificate. Both are PEM; false if one of them cannot be read. */
export function belongTogether(cert: string, key: string): boolean {
  try {
    return new X509Certificate(cert).checkPrivateKey(createPrivateKey(key))
  } catch {
    return false
  }
}
