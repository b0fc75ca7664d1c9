import type { PageFiles } from './page-handler.ts'

/** The files of the page; read with the first request. */
export async function loadPageFiles(): Promise<PageFiles> {
  return new Map()
}
