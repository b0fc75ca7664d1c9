import { readFileSync } from 'node:fs'

const ROOT = new URL('../../../', import.meta.url)

/** The text of a page of `docs/operate`, or of one by its path from the root of the checkout: `./README.md`. */
export function pageText(page: string): string {
  const path = page.includes('/') ? page : `docs/operate/${page}`
  return readFileSync(new URL(path, ROOT), 'utf8')
}

/** A section of a page, without the sections of a lower level in it. */
export interface Section {
  readonly heading: string
  readonly text: string
}

/** The sections of a page in their order, the first one under its title. */
export function sectionsOf(page: string): readonly Section[] {
  const sections = pageText(page)
    .replace(/^# /, '')
    .split(/^###? /m)
  return sections.map((section) => {
    const end = section.indexOf('\n')
    return { heading: section.slice(0, end), text: section.slice(end + 1) }
  })
}

/** The fenced blocks of one section of a page, in their order, without their indentation. */
export function blocksOf(page: string, heading: string, language: string): readonly string[] {
  const section = sectionsOf(page).find((one) => one.heading === heading)
  const blocks = section === undefined ? [] : blocksIn(section.text, language)
  if (blocks.length === 0) throw new Error(`${page} has no ${language} block under “${heading}”`)
  return blocks
}

/** The fenced blocks of a text in this language; `language` empty: those without a language. */
export function blocksIn(text: string, language: string): readonly string[] {
  return [...text.matchAll(/^( *)```(\w*)\n(.*?)^ *```$/gms)]
    .filter(([, , named]) => named === language)
    .map(([, indent = '', , block = '']) => block.replaceAll(new RegExp(`^${indent}`, 'gm'), ''))
}

/** One block of commands of a section, counted from 0. */
export function blockOf(page: string, heading: string, index: number): string {
  const block = blocksOf(page, heading, 'sh')[index]
  if (block === undefined) throw new Error(`${page} has no block ${index} under “${heading}”`)
  return block
}

/** A command in a sentence or a table of a page. @throws Error if the page does not have it any more */
export function spanOf(page: string, text: string): string {
  if (!pageText(page).replaceAll(/\s+/g, ' ').includes(`\`${text}\``)) {
    throw new Error(`${page} has no code “${text}”`)
  }
  return text
}

/** The commands in the first column of the table of a section. */
export function rowsOf(page: string, heading: string): readonly string[] {
  const section = sectionsOf(page).find((one) => one.heading === heading)
  const rows = [...(section?.text.matchAll(/^\| `([^`]+)` \|/gm) ?? [])]
  if (rows.length === 0) throw new Error(`${page} has no table of commands under “${heading}”`)
  return rows.map(([, command = '']) => command)
}
