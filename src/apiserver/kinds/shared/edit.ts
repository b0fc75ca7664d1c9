import { isRaw, ownField, type Raw } from '../../../resources/reader.ts'

/** The object with these values for fields that are absent or an empty text. */
export function fill(object: Raw, values: Raw): Raw {
  const missing = Object.entries(values).filter(([key]) => (ownField(object, key) ?? '') === '')
  return missing.length === 0 ? object : { ...object, ...Object.fromEntries(missing) }
}

/** The object without a field. */
export function without(object: Raw, key: string): Raw {
  return Object.fromEntries(Object.entries(object).filter(([each]) => each !== key))
}

/** Applies `edit` to the object at `key`, or to an empty one when there is none. */
export function change(object: Raw, key: string, edit: (value: Raw) => Raw): Raw {
  const value = ownField(object, key) ?? {}
  return isRaw(value) ? { ...object, [key]: edit(value) } : object
}

/** Applies `edit` to the object at `key`, if there is one. */
export function changePresent(object: Raw, key: string, edit: (value: Raw) => Raw): Raw {
  return ownField(object, key) === undefined ? object : change(object, key, edit)
}

/** Applies `edit` to every object in the list at `key`. */
export function changeEach(object: Raw, key: string, edit: (value: Raw) => Raw): Raw {
  const value = ownField(object, key)
  if (!Array.isArray(value)) return object
  return { ...object, [key]: value.map((item: unknown) => (isRaw(item) ? edit(item) : item)) }
}

/** A port whose protocol is TCP unless it names another one. */
export function defaultProtocol(port: Raw): Raw {
  return fill(port, { protocol: 'TCP' })
}
