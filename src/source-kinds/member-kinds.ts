/** The members that source rules can match in the content of a version (reference/admission). */
export const MEMBER_KINDS = ['hooks', 'servers', 'executables', 'lsp', 'unreadable'] as const;
export type MemberKind = (typeof MEMBER_KINDS)[number];
