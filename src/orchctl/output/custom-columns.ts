import type { Json } from '../../lib/json.ts'
import { quote } from '../../lib/quote.ts'
import { evaluate } from '../jsonpath/evaluate.ts'
import { valueText } from '../jsonpath/expand.ts'
import { parseSinglePath } from '../jsonpath/parse-template.ts'
import { TemplateError } from '../jsonpath/scanner.ts'
import type { Path } from '../jsonpath/template.ts'
import { usageError } from '../usage/exit-code.ts'

/** A column of `-o custom-columns`. */
export interface CustomColumn {
  readonly name: string
  readonly path: Path
}

/** Reads `NAME:.metadata.name,PORTS:.spec.ports[*].port`. @throws NP_ORCHCTL_USAGE */
export function parseCustomColumns(text: string): readonly CustomColumn[] {
  // A comma inside of brackets belongs to a path, and does not separate columns.
  const parts = text.match(/(?:\[[^\]]*\]|[^,])+/gu) ?? []
  if (parts.length === 0) throw wrong(text, 'there is no column')
  return parts.map((part) => {
    const [, name = '', path = ''] = /^([^:]+):(.+)$/su.exec(part) ?? []
    if (name === '') throw wrong(part, 'a name and a path are missing')
    return { name, path: pathOf(path) }
  })
}

/** The cells of an object. */
export function customCells(columns: readonly CustomColumn[], object: Json): readonly string[] {
  return columns.map(({ path }) => {
    const values = evaluate(path, object, object)
    return values.length === 0 ? '<none>' : values.map(valueText).join(',')
  })
}

/** The path of a flag such as `--sort-by`. @throws NP_ORCHCTL_USAGE */
export function pathOf(text: string): Path {
  try {
    return parseSinglePath(text)
  } catch (error) {
    if (!(error instanceof TemplateError)) throw error
    throw wrong(text, error.message)
  }
}

function wrong(text: string, why: string): Error {
  return usageError(`${quote(text)} is no path: ${why}`, 'write for example NAME:.metadata.name')
}
