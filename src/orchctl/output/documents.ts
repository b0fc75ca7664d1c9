import { type Json, type JsonObject, objectAt, stringAt, without } from '../../lib/json.ts'
import type { CommandContext } from '../session/command-module.ts'
import { expand, sortedValue } from './evaluate-template.ts'
import type { OutputFormat } from './output-format.ts'
import { columns } from './server-table.ts'
import { customCells } from './template-format.ts'
import { escaped, oneLine } from './terminal-text.ts'

/** Every format but a table of the server. */
export type DocumentFormat = Exclude<OutputFormat, { type: 'table' }>

export interface DocumentOptions {
  /** Whether the output is a terminal, so that control characters must be escaped. */
  readonly isTerminal: boolean
  readonly showManagedFields?: boolean
  /** Whether the header of custom columns is left out. */
  readonly noHeaders?: boolean
}

/** Objects as a list of the API. */
export function listOf(items: readonly JsonObject[]): JsonObject {
  return { apiVersion: 'v1', items: [...items], kind: 'List', metadata: { resourceVersion: '' } }
}

/** The text of one object, or of a list of them. */
export async function documentText(
  format: DocumentFormat,
  document: JsonObject,
  options: DocumentOptions,
): Promise<string> {
  const shown = options.showManagedFields === true ? document : withoutManagedFields(document)
  switch (format.type) {
    case 'json':
      return jsonText(shown, options)
    case 'yaml':
      return yamlText(shown)
    case 'name':
      return itemsOf(document)
        .map((object) => `${oneLine(objectName(object))}\n`)
        .join('')
    case 'jsonpath':
      return safe(expand(format.template, shown), options)
    case 'custom-columns': {
      const header = options.noHeaders === true ? [] : [format.columns.map(({ name }) => name)]
      const rows = itemsOf(shown).map((object) => customCells(format.columns, object))
      return columns([...header, ...rows])
    }
  }
}

/** Prints it; control characters are escaped where the standard output is a terminal. */
export async function printDocument(
  format: DocumentFormat,
  document: JsonObject,
  context: CommandContext,
  options: Omit<DocumentOptions, 'isTerminal'> = {},
): Promise<void> {
  const isTerminal = context.host.stdout.isTTY === true
  context.print(await documentText(format, document, { ...options, isTerminal }))
}

/** `service/web`, `deployment.apps/web`. */
export function objectName(object: JsonObject): string {
  const [, group] = /^(.*)\//.exec(stringAt(object, 'apiVersion')) ?? []
  const kind = stringAt(object, 'kind').toLowerCase()
  const type = group === undefined ? kind : `${kind}.${group}`
  return `${type}/${stringAt(object, 'metadata', 'name')}`
}

/** JSON as kubectl writes it: keys in order, indented by four. */
export function jsonText(document: Json, options: DocumentOptions): string {
  return `${safe(JSON.stringify(sortedValue(document), undefined, 4), options)}\n`
}

/** YAML with keys in order; strings with control characters are quoted and escaped, terminal or not. */
export async function yamlText(document: Json): Promise<string> {
  const { isScalar, visit } = await import('yaml')
  const { documentOf } = await import('../../manifests/yaml-scalars.ts')
  const parsed = documentOf(sortedValue(document))
  visit(parsed, {
    Scalar(_, node) {
      if (isScalar(node) && typeof node.value === 'string' && UNSAFE.test(node.value)) {
        node.type = 'QUOTE_DOUBLE'
      }
    },
  })
  return parsed
    .toString({ lineWidth: 0, indentSeq: false, singleQuote: true })
    .replace(ALL_UNSAFE, escaped)
}

const UNSAFE = /(?![\n\t])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/u
const ALL_UNSAFE = new RegExp(UNSAFE.source, 'gu')

function safe(text: string, { isTerminal }: DocumentOptions): string {
  return isTerminal ? text.replace(ALL_UNSAFE, escaped) : text
}

function itemsOf(document: JsonObject): readonly JsonObject[] {
  const items = document['items']
  return Array.isArray(items) && stringAt(document, 'kind').endsWith('List')
    ? (items as JsonObject[])
    : [document]
}

/** Without `metadata.managedFields`; of a list, its items. */
export function withoutManagedFields(document: JsonObject): JsonObject {
  const items = document['items']
  if (Array.isArray(items)) {
    return { ...document, items: items.map((item) => withoutManagedFields(item as JsonObject)) }
  }
  const metadata = objectAt(document, 'metadata')
  return 'managedFields' in metadata
    ? { ...document, metadata: without(metadata, 'managedFields') }
    : document
}
