module keyshelf.example/product

go 1.19

require keyshelf.example/keyshelf v0.1.0

replace keyshelf.example/keyshelf => ../../../clients/go
