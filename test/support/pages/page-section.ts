import { readFileSync } from 'node:fs'

/** The text of a page of `docs/operate`. */
function pageText(page: string): string {
  return readFileSync(new URL(`../../../docs/operate/${page}`, import.meta.url), 'utf8')
}

/** A section of a page, without the sections of a lower level in it. */
export interface Section {
  readonly heading: string
  readonly text: string
}

/** The sections of a page, of the second and the third level, in their order. */
export function sectionsOf(page: string): readonly Section[] {
  const [, ...sections] = pageText(page).split(/^###? /m)
  return sections.map((section) => {
    const end = section.indexOf('\n')
    return { heading: section.slice(0, end), text: section.slice(end + 1) }
  })
}

/** The fenced blocks of one section of a page of `docs/operate`, in their order, without their indentation. */
export function blocksOf(page: string, heading: string, language: string): readonly string[] {
  const section = sectionsOf(page).find((one) => one.heading === heading)
  const blocks = section === undefined ? [] : blocksIn(section.text, language)
  if (blocks.length === 0) throw new Error(`${page} has no ${language} block under “${heading}”`)
  return blocks
}

/** The fenced blocks of a text that are in this language; empty: those that name none. */
export function blocksIn(text: string, language: string): readonly string[] {
  return [...text.matchAll(/^( *)```(\w*)\n(.*?)^ *```$/gms)]
    .filter(([, , named]) => named === language)
    .map(([, indent = '', , block = '']) => block.replaceAll(new RegExp(`^${indent}`, 'gm'), ''))
}
