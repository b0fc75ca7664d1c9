import { readFileSync } from 'node:fs'

/** The fenced blocks of one section of a page of `docs/operate`, in their order, without their indentation. */
export function blocksOf(page: string, heading: string, language: string): readonly string[] {
  const text = readFileSync(new URL(`../../../docs/operate/${page}`, import.meta.url), 'utf8')
  const section = text.split(/^## /m).find((part) => part.startsWith(`${heading}\n`)) ?? ''
  const fence = new RegExp(`^( *)\`\`\`${language}\\n(.*?)^ *\`\`\`$`, 'gms')
  const blocks = [...section.matchAll(fence)].map(([, indent = '', block = '']) =>
    block.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
  )
  if (blocks.length === 0) throw new Error(`${page} has no ${language} block under “${heading}”`)
  return blocks
}
