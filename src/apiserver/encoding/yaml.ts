import { isUtf8 } from 'node:buffer'
import { Composer, type CST, type Document, Lexer, Parser } from 'yaml'
import type { Json } from '../../lib/json.ts'
import { documentOf, resolveScalars, UNRESOLVED } from '../../manifests/yaml-scalars.ts'
import { badRequest, StatusError, tooLarge } from '../status/status.ts'
import { parseJson } from './parse-json.ts'

const STYLE = { lineWidth: 0, indentSeq: false } as const

/** Bytes of JSON that can be converted to YAML within some milliseconds. */
const LONG = 32 << 10

/** How many times longer than its JSON a YAML text may be; deep nesting indents every line. */
const MAX_GROWTH = 8

/** The limit of bytes of YAML, also after its aliases are expanded. JSON, which is also YAML, may be larger. */
const LARGEST = 1 << 20
const MAX_LEXEMES = 20_000
const MAX_ALIASES = 100
/** The limit of open collections in the parser, which has two for each level of nesting. */
const MAX_STACK = 200

const OPTIONS = { ...UNRESOLVED, stringKeys: true } as const

/**
 * One YAML document as JSON, its scalars read as kube-apiserver reads them. Limits are checked before the text
 * is parsed completely, so no text takes long or expands.
 */
export function parseYaml(body: Buffer, depth: number): Json | StatusError {
  const json = parseJson(body, depth)
  if (!(json instanceof StatusError)) return json
  if (!isUtf8(body)) return badRequest('the body is not valid UTF-8')
  if (body.length > LARGEST) return tooLarge(`YAML is limited to ${LARGEST} bytes: send JSON`)
  const text = body.toString()
  const tokens = readTokens(text)
  if (tokens instanceof StatusError) return tokens
  const documents = [...new Composer(OPTIONS).compose(tokens)]
  const [document] = documents
  if (document === undefined || documents.length > 1) return badRequest('send one YAML document')
  const [error] = document.errors
  return error === undefined ? valueOf(document, text.length) : notYaml(error)
}

function readTokens(text: string): readonly CST.Token[] | StatusError {
  const parser = new Parser()
  const tokens: CST.Token[] = []
  let lexemes = 0
  for (const lexeme of new Lexer().lex(text)) {
    tokens.push(...parser.next(lexeme))
    if (++lexemes > MAX_LEXEMES) return tooLarge('the YAML has too many parts: send JSON')
    if (parser.stack.length > MAX_STACK) return badRequest('the YAML is nested too deeply')
  }
  return [...tokens, ...parser.end()]
}

function valueOf(document: Document.Parsed, length: number): Json | StatusError {
  resolveScalars(document)
  const maxAliasCount = Math.min(MAX_ALIASES, Math.floor(LARGEST / Math.max(length, 1)))
  try {
    return document.toJS({ maxAliasCount, reviver: finite }) as Json
  } catch (error) {
    return notYaml(error as Error)
  }
}

function finite(_key: unknown, value: unknown): unknown {
  if (typeof value !== 'number' || Number.isFinite(value)) return value
  throw new RangeError('it holds a number out of range')
}

function notYaml(error: Error): StatusError {
  return badRequest(`the body is not valid YAML: ${error.message.slice(0, 200)}`)
}

/**
 * A JSON document as YAML. Long or very deeply nested documents stay JSON, which is also valid YAML, so that no
 * answer takes long to write or grows far beyond the stored size.
 */
export function writeYaml(json: string): string {
  if (json.length > LONG) return `${json}\n`
  const text = documentOf(JSON.parse(json)).toString(STYLE)
  return text.length > MAX_GROWTH * json.length ? `${json}\n` : text
}

/** As `writeYaml`, for an item of a list. */
export function writeYamlItem(json: string): string {
  const lines = writeYaml(json).slice(0, -1)
  return `- ${lines.replaceAll('\n', '\n  ')}\n`
}
