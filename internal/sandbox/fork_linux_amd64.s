#include "textflag.h"

// func vfork(flags uintptr) (pid, errno uintptr)
//
// The child goes on on our stack while we wait, and would overwrite the address that we
// return to. It is kept in a register, which the kernel saves for each of the two.
TEXT ·vfork(SB),NOSPLIT|NOFRAME,$0-24
	MOVQ	flags+0(FP), DI
	XORL	SI, SI
	XORL	DX, DX
	XORL	R10, R10
	XORL	R8, R8
	MOVL	$56, AX	// clone
	POPQ	R12
	SYSCALL
	PUSHQ	R12
	CMPQ	AX, $0xfffffffffffff001
	JLS	made
	NEGQ	AX
	MOVQ	$0, pid+8(FP)
	MOVQ	AX, errno+16(FP)
	RET
made:
	MOVQ	AX, pid+8(FP)
	MOVQ	$0, errno+16(FP)
	RET
