import type { ChainSpec, Element, Rule, SetSpec } from '../../../kernel/nftables/objects.ts'
import {
  digestOf,
  digestOfChain,
  digestOfSet,
  EMPTY,
  type PlacedElement,
  sumOf,
} from '../../../kernel/nftables/rules/digest.ts'
import type { Digest } from '../../mode.ts'

/** A set or map. */
export interface SetContent {
  readonly kind: 'set'
  readonly name: string
  readonly spec: SetSpec
  /** The elements that belong to this object and to no frontend. */
  readonly elements: readonly Element[]
}

export interface ChainContent {
  readonly kind: 'chain'
  readonly name: string
  readonly spec: ChainSpec
  readonly rules: readonly Rule[]
}

/** What an object consists of. */
export type Content =
  | { readonly kind: 'table' }
  | SetContent
  | ChainContent
  | { readonly kind: 'frontend'; readonly elements: readonly PlacedElement[] }

/** The digest of a wanted object; it equals the digest of the same object when read. */
export function digestOfContent(content: Content): Digest {
  switch (content.kind) {
    case 'table':
      return EMPTY
    case 'set': {
      const { name, spec, elements } = content
      const placed = elements.map((element) => ({ set: name, element }))
      return sumOf([digestOfSet(spec), digestOf(placed)])
    }
    case 'chain':
      return digestOfChain(content.spec, content.rules)
    case 'frontend':
      return digestOf(content.elements)
  }
}
