import { isRaw, own, type Raw } from '../../../resources/raw.ts'
import { changePresent, fill, without } from '../shared/edit.ts'

export function defaultConfigMap(map: Raw): Raw {
  return changePresent(map, 'binaryData', joinLines)
}

/** A Secret whose `stringData`, which is for writing only, stands encoded in `data`. */
export function defaultSecret(given: Raw): Raw {
  const secret = changePresent(fill(given, { type: 'Opaque' }), 'data', joinLines)
  const texts = own(secret, 'stringData')
  const data = own(secret, 'data') ?? {}
  if (!isRaw(texts) || !isRaw(data)) return secret
  if (!Object.values(texts).every((text) => typeof text === 'string')) return secret
  const encoded = Object.entries(texts).map(
    ([key, text]) => [key, Buffer.from(String(text)).toString('base64')] as const,
  )
  return { ...without(secret, 'stringData'), data: { ...data, ...Object.fromEntries(encoded) } }
}

/** Base64 may be broken into lines, which mean nothing. */
function joinLines(data: Raw): Raw {
  const joined = Object.entries(data).map(
    ([key, value]) =>
      [key, typeof value === 'string' ? value.replaceAll(/[\r\n]/g, '') : value] as const,
  )
  return Object.fromEntries(joined)
}
