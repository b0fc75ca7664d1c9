import type { Json } from '../../lib/json.ts'

/** One step of a path. */
export type Step =
  | { readonly type: 'root' }
  | { readonly type: 'field'; readonly name: string }
  | { readonly type: 'wildcard' }
  /** All values below, at any depth. */
  | { readonly type: 'descend' }
  | { readonly type: 'slice'; readonly from?: number; readonly to?: number; readonly step?: number }
  | { readonly type: 'union'; readonly parts: readonly Step[] }
  | { readonly type: 'filter'; readonly filter: Filter }

export type Path = readonly Step[]

export type Operator = '==' | '!=' | '<' | '<=' | '>' | '>='

/** A side of a comparison. */
export type Operand = { readonly path: Path } | { readonly literal: Json }

/** `?(@.name=="x")`; without operator: whether the left side exists. */
export interface Filter {
  readonly left: Operand
  readonly operator?: Operator
  readonly right?: Operand
}

/** A part of a template. */
export type Part =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'path'; readonly path: Path }
  | { readonly type: 'range'; readonly path: Path; readonly body: readonly Part[] }

export type Template = readonly Part[]
