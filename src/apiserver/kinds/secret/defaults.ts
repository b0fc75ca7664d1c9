import { isRaw, own, type Raw } from '../../../resources/raw.ts'
import { joinBase64Lines } from '../shared/data-map.ts'
import { changePresent, fill, without } from '../shared/edit.ts'

/** A Secret whose `stringData`, which is for writing only, stands encoded in `data`. */
export function defaultSecret(given: Raw): Raw {
  const secret = changePresent(fill(given, { type: 'Opaque' }), 'data', joinBase64Lines)
  const texts = own(secret, 'stringData')
  const data = own(secret, 'data') ?? {}
  if (!isRaw(texts) || !isRaw(data)) return secret
  if (!Object.values(texts).every((text) => typeof text === 'string')) return secret
  const encoded = Object.entries(texts).map(
    ([key, text]) => [key, Buffer.from(String(text)).toString('base64')] as const,
  )
  return { ...without(secret, 'stringData'), data: { ...data, ...Object.fromEntries(encoded) } }
}
