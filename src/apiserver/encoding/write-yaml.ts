import { Document } from 'yaml'
import { quoteTexts } from '../../manifests/yaml-scalars.ts'

/** YAML 1.1, whose readers take `on` for true and `12:30` for a number, so that such texts are quoted. */
const READ_AS = { version: '1.1', aliasDuplicateObjects: false } as const
const STYLE = { lineWidth: 0, indentSeq: false } as const

/** Bytes of JSON that are rewritten within some milliseconds. */
const LONG = 32 << 10

/** How much longer than its JSON a text may be; deep nesting indents every line. */
const MAX_GROWTH = 8

/**
 * A document in YAML, from JSON. What is long or nested very deep stays JSON,
 * which is YAML too: no answer takes long to write, or outgrows what is stored.
 */
export function writeYaml(json: string): string {
  if (json.length > LONG) return `${json}\n`
  const document = new Document(JSON.parse(json), READ_AS)
  quoteTexts(document)
  const text = document.toString(STYLE)
  return text.length > MAX_GROWTH * json.length ? `${json}\n` : text
}

/** The same as an item of a list. */
export function writeYamlItem(json: string): string {
  const lines = writeYaml(json).slice(0, -1)
  return `- ${lines.replaceAll('\n', '\n  ')}\n`
}
